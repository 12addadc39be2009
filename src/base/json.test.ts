/** Strict JSON ([platform §2.7]; [data-processing §1.3]). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonError, jsonDepthMaximum, parseJson } from './json.ts';

describe('strict JSON', () => {
  test('any output of JSON.stringify is read back unchanged', () => {
    const document = fc.jsonValue({ stringUnit: 'binary' }).filter((value) => !hasRefused(value));
    fc.assert(
      fc.property(document, fc.constantFrom(undefined, 2), (value, indent) => {
        expect(parseJson(JSON.stringify(value, null, indent))).toEqual(normal(value));
      }),
    );
  });

  test('any text is read as JSON.parse reads it, or refused with a JsonError', () => {
    const text = fc.oneof(
      fc.string(),
      fc.json().map((json) => json.slice(0, -1)),
      fc.json(),
    );
    fc.assert(
      fc.property(text, (source) => {
        try {
          expect(parseJson(source)).toEqual(JSON.parse(source));
        } catch (error) {
          expect(error).toBeInstanceOf(JsonError);
        }
      }),
    );
  });

  test.each([
    ['{"a":1,"a":2}', 'has the member "a" twice in one object'],
    ['{"a":1,"\\u0061":2}', 'has the member "a" twice in one object'],
    ['[{"x":{"a":[],"b":{"c":1,"c":1}}}]', 'has the member "c" twice in one object'],
    ['{"":1,"":2}', 'has the member "" twice in one object'],
    ['{"__proto__":{}}', "has a member named '__proto__', which is not allowed"],
    ['{"a":{"\\u005f_proto__":1}}', "has a member named '__proto__', which is not allowed"],
    ['{"a":1e400}', 'has a number that is too large'],
    ['[-1e309]', 'has a number that is too large'],
    ['1e999', 'has a number that is too large'],
    [`[${'9'.repeat(400)}]`, 'has a number that is too large'],
    [`[${'9'.repeat(309)}]`, 'has a number that is too large'],
    ['[1E+309, 1]', 'has a number that is too large'],
    ['"\\ud800"', 'has a text that is not valid Unicode'],
    ['{"\\udc00":1}', 'has a text that is not valid Unicode'],
    ['["\\udc00\\ud800"]', 'has a text that is not valid Unicode'],
    ['{"a":1', 'is not valid JSON'],
    ["{'a':1}", 'is not valid JSON'],
    ['{"a":1,}', 'is not valid JSON'],
    ['NaN', 'is not valid JSON'],
    ['', 'is not valid JSON'],
  ])('%s is refused', (text, message) => {
    expect(() => parseJson(text)).toThrow(message);
  });

  test.each<[string, unknown]>([
    ['{"a":{"a":1},"b":[{"a":2},{"a":3}]}', { a: { a: 1 }, b: [{ a: 2 }, { a: 3 }] }],
    ['{"a":"a","b":"a,{\\"a\\":1}"}', { a: 'a', b: 'a,{"a":1}' }],
    ['["__proto__","\\\\",":"]', ['__proto__', '\\', ':']],
    ['{"constructor":1,"toString":2}', { constructor: 1, toString: 2 }],
    ['"\\ud83d\\ude00\\\\ud800"', '😀\\ud800'],
    ['[1.7976931348623157e308,-5e-324,1e-400,-0]', [Number.MAX_VALUE, -Number.MIN_VALUE, 0, -0]],
    [' -12.5e+1 ', -125],
  ])('%s is read', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  test('the largest numbers, and exponents that do not overflow, are read', () => {
    const text = `[1${'0'.repeat(308)}, -1.7976931348623157e+308, 1E-400, 0e999, 12e0]`;
    expect(parseJson(text)).toEqual([1e308, -Number.MAX_VALUE, 0, 0, 12]);
  });

  test('the edge of the depth, of arrays and of objects', () => {
    const arrays = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    for (const nested of [arrays, objects]) {
      expect(parseJson(nested(jsonDepthMaximum))).toEqual(JSON.parse(nested(jsonDepthMaximum)));
      expect(() => parseJson(nested(jsonDepthMaximum + 1))).toThrow(JsonError);
      expect(() => parseJson(nested(100_000))).toThrow(JsonError);
    }
    // Depth is nesting, not length.
    expect(parseJson(`[${'[],'.repeat(1000)}[]]`)).toHaveLength(1001);
  });
});

/** -0 is written as 0. */
function normal(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function hasRefused(value: unknown): boolean {
  const text = JSON.stringify(value);
  return text.includes('"__proto__":');
}
