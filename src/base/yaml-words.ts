/** YAML syntax errors in plain words. The parser's own messages name its tokens and collections. */
import type { YAMLError } from 'yaml';

/** By code and, if a code has several causes, by a part of the parser's message. The first match is used; without one, the parser's own message. */
const causes: readonly {
  readonly code: YAMLError['code'];
  readonly part?: RegExp;
  /** `$1` is the first group of `part`. */
  readonly words: string;
}[] = [
  { code: 'DUPLICATE_KEY', words: 'duplicate key' },
  { code: 'TAB_AS_INDENT', words: 'indent with spaces, not tabs' },
  { code: 'BAD_INDENT', part: /^Flow map/, words: 'a "{" above has no "}"' },
  { code: 'BAD_INDENT', part: /^Flow sequence/, words: 'a "[" above has no "]"' },
  { code: 'BAD_INDENT', words: 'the indentation does not match the lines above' },
  { code: 'MISSING_CHAR', part: /closing (.)quote/, words: 'the quoted text that begins here has no closing $1' },
  {
    code: 'MISSING_CHAR',
    part: /without - indicator/,
    words: 'the indentation does not match the entry above',
  },
  { code: 'MISSING_CHAR', part: /^Missing ,/, words: 'expected a comma or a closing bracket' },
  { code: 'MISSING_CHAR', part: /^Implicit map keys/, words: 'expected "key: value"' },
  { code: 'MULTILINE_IMPLICIT_KEY', words: 'expected "key: value"' },
  { code: 'BLOCK_AS_IMPLICIT_KEY', part: /^Nested mappings/, words: 'a value that contains ": " needs quotes' },
  { code: 'BLOCK_AS_IMPLICIT_KEY', words: 'expected "key: value"' },
  { code: 'BLOCK_IN_FLOW', words: 'expected a comma or a closing bracket' },
  { code: 'BAD_SCALAR_START', part: /(.)$/u, words: 'a value that begins with $1 needs quotes' },
  {
    code: 'BAD_DQ_ESCAPE',
    part: /(\\.?)[^\\]*$/u,
    words: '$1 is not a valid escape in double quotes; use single quotes',
  },
  { code: 'MULTIPLE_DOCS', words: 'a second document begins here; only one is allowed' },
  { code: 'TAG_RESOLVE_FAILED', words: 'tags are not allowed' },
  {
    code: 'UNEXPECTED_TOKEN',
    part: /at node end$/,
    words: 'text follows a complete value; put quotes around all of it',
  },
  { code: 'UNEXPECTED_TOKEN', part: /: (".*")$/s, words: 'unexpected $1' },
];

export function yamlFaultInWords({ code, message }: YAMLError): string {
  for (const cause of causes) {
    if (cause.code !== code) continue;
    if (cause.part === undefined) return cause.words;
    const fits = cause.part.exec(message);
    if (fits !== null) return cause.words.replace('$1', () => fits[1] ?? '');
  }
  return message;
}
