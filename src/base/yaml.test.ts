/** Strict YAML: all errors at once, each with file and line. */
import fc from 'fast-check';
import Type from 'typebox';
import { describe, expect, test } from 'vitest';
import { parseYaml, readYaml, YamlError } from './yaml.ts';

const schema = Type.Object(
  {
    name: Type.String(),
    limit: Type.Optional(Type.Number({ minimum: 1 })),
    list: Type.Optional(Type.Array(Type.Object({ id: Type.Integer() }, { additionalProperties: false }))),
  },
  { additionalProperties: false },
);

/** The lines of the refusal, or the value that was read. */
function read(text: string): unknown {
  try {
    return readYaml(text, 'f.yaml', schema);
  } catch (error) {
    if (error instanceof YamlError) return error.lines;
    throw error;
  }
}

describe('[points §1] strict YAML', () => {
  test('a valid file is read unchanged', () => {
    expect(read('name: a # comment\nlist: [{ id: 1 }]\n')).toEqual({ name: 'a', list: [{ id: 1 }] });
  });

  test('dates stay text', () => {
    expect(parseYaml('day: 2026-12-25', 'f.yaml').value).toEqual({ day: '2026-12-25' });
  });

  test('unknown keys, wrong types and missing keys: one line each, at their place', () => {
    expect(read('name: 5\nlist:\n  - id: 1\n  - id: x\n  - {}\nextra: 1\n')).toEqual([
      expect.stringMatching(/^f\.yaml:1: \/name /),
      expect.stringMatching(/^f\.yaml:4: \/list\/1\/id /),
      expect.stringMatching(/^f\.yaml:5: \/list\/2 .*"id"/),
      expect.stringMatching(/^f\.yaml:6: \/extra is not a known field/),
    ]);
  });

  test('a duplicate key is refused', () => {
    expect(read('name: a\nlimit: 2\nname: b\n')).toEqual(['f.yaml:3: duplicate key']);
  });

  test.each(['.nan', '.inf', '-.inf', '1e999'])('a number that is not finite is refused: %s', (spelled) => {
    expect(read(`name: a\nlimit: ${spelled}\n`)).toContainEqual('f.yaml:2: /limit must be a finite number');
  });

  test.each([
    ['broken syntax', 'name: a\nlist: [1\n', 'f.yaml:'],
    ['a second document', 'name: a\n---\nname: b\n', 'f.yaml:2: '],
    ['an alias', 'name: &n a\nlist: *n\n', 'f.yaml:2: aliases are not allowed'],
    ['an alias bomb', 'a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n', 'f.yaml:2: aliases are not allowed'],
    ['a tag', 'name: !!binary aGk=\n', 'f.yaml:1: '],
    ['a key that is a list', 'name: a\n? [1]\n: 2\n', 'f.yaml:2: a key must be text'],
    ['a merge key', 'name: a\n<<: { limit: 2 }\n', 'f.yaml:2: /<< is not a known field'],
    ['a prototype', 'name: a\n__proto__: { limit: 2 }\n', 'f.yaml:2: /__proto__ is not a known field'],
    ['an empty file', '', 'f.yaml:1: '],
  ])('refused with file and line: %s', (_, text, start) => {
    const lines = read(text);
    expect(lines).toEqual(expect.arrayContaining([expect.stringContaining(start)]));
  });

  test.each([
    ['a: { b: 1 } }\nc: 2\n', '1: not valid YAML: unexpected "}"'],
    ['a: { b: 1\nc: 2\nd: 3\n', '2: not valid YAML: a "{" above has no "}"'],
    ['a: [1, 2\nc: 2\n', '2: not valid YAML: a "[" above has no "]"'],
    ['a: 1\nb: "x\nc: 2\nd: 3\n', '2: not valid YAML: the quoted text that begins here has no closing "'],
    ["a: { b: 'x, c: 1 }\nd: 2\n", "1: not valid YAML: the quoted text that begins here has no closing '"],
    ['a: Pump: main\n', '1: not valid YAML: a value that contains ": " needs quotes'],
    ['a:\n\tb: 1\n', '2: not valid YAML: indent with spaces, not tabs'],
    ['a:\n  b: 1\n c: 2\n', '3: not valid YAML: the indentation does not match the lines above'],
    ['a:\n  - b: 1\n   c: 2\n', '3: not valid YAML: the indentation does not match the entry above'],
    ['a:\n  - 1\n  2\nb: 3\n', '3: not valid YAML: the indentation does not match the lines above'],
    ['a 1\nb: 2\n', '1: not valid YAML: expected "key: value"'],
    ['a: 1\nb 2\nc: 3\n', '2: not valid YAML: expected "key: value"'],
    ['a:\n  b: 1\n  - 2\n', '3: not valid YAML: expected "key: value"'],
    ['a: { b: 1 c: 2 }\nd: 1\n', '1: not valid YAML: expected a comma or a closing bracket'],
    ['a: "x" y\n', '1: not valid YAML: text follows a complete value; put quotes around all of it'],
    ['a: { "b" c: 1 }\n', '1: not valid YAML: expected a comma or a closing bracket'],
    ['a: @x\n', '1: not valid YAML: a value that begins with @ needs quotes'],
    ['a: "\\d"\n', '1: not valid YAML: \\d is not a valid escape in double quotes; use single quotes'],
    ['a: 1\n---\nb: 1\n', '2: not valid YAML: a second document begins here; only one is allowed'],
  ])('one mistake is one line, in words: %j', (text, said) => {
    expect(read(text)).toEqual([`f.yaml:${said}`]);
  });

  test('duplicate keys, tags and aliases are all named', () => {
    expect(read('name: &n a\nname: b\nlist: *n\nlimit: !x 2\nname: c\n')).toEqual([
      'f.yaml:2: duplicate key',
      'f.yaml:3: aliases are not allowed',
      'f.yaml:4: tags are not allowed',
      'f.yaml:5: duplicate key',
    ]);
  });

  test('any text is either read or refused with lines', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.string({ unit: fc.constantFrom(...Array.from('ab: \n-[]{}&*!|>"#')) }),
        ),
        (text) => {
          const result = read(text);
          if (Array.isArray(result)) for (const line of result) expect(line).toMatch(/^f\.yaml:\d+: ./);
          else expect(result).toHaveProperty('name');
        },
      ),
      { numRuns: 500 },
    );
  });
});
