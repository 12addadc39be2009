/** RFC 8785 canonical JSON against the reference library, with known answers; and its digest. */
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, canonicalSteps } from './canonical-json.ts';
import { sha256Hex } from './digest.ts';
import { atOnce } from './turns.ts';

describe('[data-processing §3.6] input_digest: RFC 8785 canonical JSON', () => {
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
        expect(atOnce(canonicalSteps(each))).toBe(canonicalJson(each));
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

describe('canonical JSON', () => {
  test('the example of RFC 8785 §3.2.2 and §3.2.3', () => {
    const value = {
      numbers: [333_333_333.333_333_3, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '€$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test('an array holds a lone surrogate, or only the letters of its escape', () => {
    const units = fc.array(fc.constantFrom('\\', 'u', 'd', '8', '0', '\ud800', '\udc00', 'é'), { maxLength: 9 });
    fc.assert(
      fc.property(fc.array(units.map((each) => each.join(''))), (texts) => {
        if (texts.every((text) => text.isWellFormed())) expect(canonicalJson(texts)).toBe(canonicalize(texts));
        else expect(() => canonicalJson(texts)).toThrow('surrogate');
      }),
      { numRuns: 1000 },
    );
    expect(canonicalJson(['\\ud800', 'é'])).toBe('["\\\\ud800","é"]');
  });

  test('members are in the order of UTF-16 code units (RFC 8785 §3.2.3)', () => {
    const value = { '€': 1, '\r': 2, '\ufb33': 3, 1: 4, '😀': 5, '\u0080': 6, ö: 7 };
    expect(
      Object.values(
        JSON.parse(
          `[${canonicalJson(value)
            .slice(1, -1)
            .replaceAll(/"[^"]*":/g, '')}]`,
        ),
      ),
    ).toEqual([2, 4, 6, 7, 1, 5, 3]);
  });

  test('one text per value: the order in which members were set does not show', () => {
    const document = fc.dictionary(
      fc.string({ minLength: 1 }).filter((name) => name !== '__proto__'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(document, (value) => {
        const reversed = Object.fromEntries(Object.entries(value).toReversed());
        expect(canonicalJson(reversed)).toBe(canonicalJson(value));
        expect(canonicalJson(JSON.parse(canonicalJson(value)))).toBe(canonicalJson(value));
      }),
    );
  });

  test('values without a JSON form are refused', () => {
    for (const value of [Number.NaN, [Number.POSITIVE_INFINITY], { a: '\ud800' }, undefined])
      expect(() => canonicalJson(value)).toThrow(Error);
    expect(canonicalJson([-0])).toBe('[0]');
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
  });
});

test('SHA-256 in lowercase hexadecimal, with the known answers of FIPS 180', () => {
  expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(sha256Hex(new Uint8Array())).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(sha256Hex('€')).toBe(sha256Hex(new TextEncoder().encode('€')));
});
