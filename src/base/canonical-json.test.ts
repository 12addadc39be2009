/** Canonical JSON against the reference library, and what neither writes. */
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

describe('§2.3 input_digest: RFC 8785 canonical JSON', () => {
  test('equals the reference library on every JSON value, integer-like and astral names included', () => {
    const name = fc.oneof(fc.string(), fc.integer().map(String), fc.string({ unit: 'grapheme' }));
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer(),
        fc.string({ unit: 'grapheme' }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 6 }),
        fc.array(fc.double({ noNaN: true, noDefaultInfinity: true })),
        fc.dictionary(name, tie('value'), { maxKeys: 6 }),
      ),
    })).value;
    fc.assert(
      fc.property(value, (each) => {
        expect(canonicalJson(each)).toBe(canonicalize(each));
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    [-0, '0'],
    [1e21, '1e+21'],
    [1e-7, '1e-7'],
    [{ 10: 1, 2: 2, a: undefined }, '{"10":1,"2":2}'],
    [{ '\u{1F600}': 1, '\uFB33': 2 }, '{"\u{1F600}":1,"\uFB33":2}'],
  ])('%j', (value, text) => expect(canonicalJson(value)).toBe(text));

  test.each([
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    ['\ud800'],
    [undefined],
    [[1, Number.NaN]],
    [['\udc00']],
    [{ '\ud800': 1 }],
    [[undefined]],
    [{ at: new Date(0) }],
    [() => 1],
    [1n],
  ])('%o has no canonical form', (value) => expect(() => canonicalJson(value)).toThrow());
});
