/**
 * YAML configuration, strictly: unknown and duplicate keys, wrong types and numbers that are not finite are refused,
 * every one with `file:line: reason`.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Static, TSchema } from 'typebox';
import {
  type Document,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  stringify,
  visit,
  type YAMLError,
  type YAMLSeq,
} from 'yaml';
import { decoder } from './decode.ts';
import { yamlFaultInWords } from './yaml-words.ts';

/** Everything that is wrong with one file, a line each. */
export class YamlError extends Error {
  readonly lines: readonly string[];
  constructor(lines: readonly string[]) {
    const sorted = lines.toSorted((a, b) => lineNumber(a) - lineNumber(b));
    super(sorted.join('\n'));
    this.name = 'YamlError';
    this.lines = sorted;
  }
}

function lineNumber(line: string): number {
  return Number(/:(\d+): /.exec(line)?.[1] ?? 0);
}

export interface YamlFile {
  readonly value: unknown;
  /** `file:line: reason` for a JSON Pointer into the value. */
  at(path: string, reason: string): string;
}

export function parseYaml(text: string, fileName: string): YamlFile {
  const counter = new LineCounter();
  // Core schema and no known tags: every value is what it looks like, and a date stays text.
  const options = {
    lineCounter: counter,
    uniqueKeys: true,
    merge: false,
    schema: 'core',
    prettyErrors: false,
  } as const;
  const document = parseDocument(text, { ...options, resolveKnownTags: false });
  const lineOf = (offset: number): number => counter.linePos(offset).line;
  const faults = syntaxFaults(document);
  if (faults.length > 0)
    throw new YamlError(faults.map(({ offset, reason }) => `${fileName}:${lineOf(offset)}: ${reason}`));
  const at = (path: string, reason: string): string => {
    const parts = path
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    // The nearest place that exists: a missing key is reported at the object that lacks it.
    for (let length = parts.length; length >= 0; length--) {
      const keys = parts.slice(0, length).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
      const node = length === 0 ? document.contents : document.getIn(keys, true);
      if (isNode(node) && node.range)
        return `${fileName}:${lineOf(node.range[0])}: ${path === '' ? '' : `${path} `}${reason}`;
    }
    return `${fileName}:1: ${reason}`;
  };
  return { value: document.toJS(), at };
}

const lineWidth = 120;

/** The one text of a value: members in their order, no aliases; `parseYaml` reads the same value back. */
export function formatYaml(value: unknown): string {
  return stringify(value, { schema: 'core', aliasDuplicateObjects: false, lineWidth });
}

/**
 * Appends `values` to the list at `path`, and creates the list if it is missing. A list in block style is extended in place: all other
 * text stays byte for byte. Otherwise the document is formatted again, with its comments and order.
 */
export function appendToYaml(text: string, path: readonly (string | number)[], values: readonly unknown[]): string {
  if (values.length === 0) return text;
  const options = { schema: 'core', resolveKnownTags: false } as const;
  const document = parseDocument(text, options);
  if (document.getIn(path) === undefined) document.setIn(path, document.createNode([]));
  const list = document.getIn(path, true);
  if (!isSeq(list)) throw new Error(`expected a list at ${path.join('/')}`);
  const inPlace = withEntryLines(text, list, values);
  // A list in brackets grows into lines of its own.
  list.flow = false;
  for (const value of values) list.add(document.createNode(value));
  // Indentation that is out of the ordinary would give the lines another meaning.
  const isMeant = inPlace !== null && isDeepStrictEqual(parseDocument(inPlace, options).toJS(), document.toJS());
  return isMeant ? inPlace : document.toString({ lineWidth: 0 });
}

/** The values as lines below the last entry of a list, indented as it is; null for a list that has no lines of its own. */
function withEntryLines(text: string, list: YAMLSeq, values: readonly unknown[]): string | null {
  const last = list.items.at(-1);
  if (list.flow === true || !isNode(last) || last.range === undefined || last.range === null) return null;
  const [from, end] = last.range;
  const indent = /^ *(?=- )/.exec(text.slice(text.lastIndexOf('\n', from) + 1))?.[0];
  if (indent === undefined) return null;
  // A block's range may end behind its last line break.
  const lineEnd = text.indexOf('\n', Math.max(from, end - 1));
  const head = lineEnd === -1 ? `${text}\n` : text.slice(0, lineEnd + 1);
  const lines = stringify(values, { schema: 'core', aliasDuplicateObjects: false, lineWidth: 0 }).replaceAll(
    /^(?=.)/gm,
    indent,
  );
  return head + lines + text.slice(head.length);
}

/** Parses and decodes a whole file; throws a YamlError that names every wrong place. */
export function readYaml<S extends TSchema>(text: string, fileName: string, schema: S): Static<S> {
  const file = parseYaml(text, fileName);
  const decoded = decoder(schema)(file.value);
  const lines = decoded.ok ? [] : decoded.issues.map((issue) => file.at(issue.path, issue.message));
  lines.push(...notFinite(file.value, '').map((path) => file.at(path, 'must be a finite number')));
  if (!decoded.ok || lines.length > 0) throw new YamlError(lines);
  return decoded.value;
}

/** Paths of NaN and infinities, which YAML can spell and schemas let pass. */
export function notFinite(value: unknown, path: string): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    notFinite(member, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  );
}

interface SyntaxFault {
  readonly offset: number;
  readonly reason: string;
}

/** Codes of errors that leave the rest of the file readable. */
const harmless: ReadonlySet<string> = new Set(['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED']);

/** If the text is not valid YAML, only the first error is reported: the parser's later ones follow from it. */
function syntaxFaults(document: Document.Parsed): SyntaxFault[] {
  const problems = [...document.errors, ...document.warnings];
  const faults = (some: readonly YAMLError[]): SyntaxFault[] =>
    some.map((error) => ({ offset: beginOf(document, error), reason: yamlFaultInWords(error) }));
  const [first] = faults(problems.filter(({ code }) => !harmless.has(code))).toSorted((a, b) => a.offset - b.offset);
  if (first !== undefined) return [{ ...first, reason: `not valid YAML: ${first.reason}` }];
  return [...faults(problems), ...indirections(document)];
}

/** The parser reports an unclosed quote where it stopped looking for the end; the error is where the text begins. */
function beginOf(document: Document.Parsed, { code, pos: [at] }: YAMLError): number {
  let begin = at;
  if (code === 'MISSING_CHAR')
    visit(document, {
      Scalar(_, { type, range }) {
        if (type?.startsWith('QUOTE') === true && range?.[1] === at) begin = range[0];
      },
    });
  return begin;
}

/** YAML features without a use in configuration: aliases, and keys that are not plain text or numbers. */
function indirections(document: Document.Parsed): SyntaxFault[] {
  const found: SyntaxFault[] = [];
  visit(document, {
    Alias(_, node) {
      found.push({ offset: node.range?.[0] ?? 0, reason: 'aliases are not allowed' });
    },
    Pair(_, pair) {
      if (!isNode(pair.key) || isScalar(pair.key)) return;
      found.push({ offset: pair.key.range?.[0] ?? 0, reason: 'a key must be text' });
    },
  });
  return found;
}
