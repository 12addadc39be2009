/** Whole numbers as text: each number of a range, and nothing else. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asInteger, decimal, decimalPattern, idText } from './decimal.ts';

const matches = (minimum: number, maximum: number, text: string): boolean =>
  new RegExp(decimalPattern(minimum, maximum)).test(text);

describe('decimals of a range', () => {
  const bounds = fc
    .tuple(fc.nat(3000), fc.nat(3000))
    .map(([one, other]) => [Math.min(one, other), Math.max(one, other)]);

  test('a number matches if it is in the range', () => {
    fc.assert(
      fc.property(bounds, ([minimum = 0, maximum = 0]) => {
        const pattern = new RegExp(decimalPattern(minimum, maximum));
        for (let number = 0; number <= 3100; number++)
          if (pattern.test(String(number)) !== (number >= minimum && number <= maximum))
            throw new Error(`${number} in ${minimum} to ${maximum}`);
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    [0, 255],
    [0, 65_535],
    [0, 4_294_967_295],
    [1, 999_999_999],
    [1, Number.MAX_SAFE_INTEGER],
  ])('%s to %s: the edges match, the next numbers do not', (minimum, maximum) => {
    expect(matches(minimum, maximum, String(minimum))).toBe(true);
    expect(matches(minimum, maximum, String(maximum))).toBe(true);
    expect(matches(minimum, maximum, String(BigInt(maximum) + 1n))).toBe(false);
    expect(matches(minimum, maximum, String(minimum - 1))).toBe(false);
  });

  test.each(['', '01', '+1', '-1', '1.0', '1e1', ' 1', '1 ', '1\n2', '０'])('%j is not canonical', (text) => {
    expect(matches(0, 100, text)).toBe(false);
  });

  test('a reader of the description sees an integer', () => {
    expect(asInteger(decimal(0, 255))).toEqual({ type: 'integer', minimum: 0, maximum: 255 });
    expect(asInteger(idText)).toEqual({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
    expect(asInteger({ type: 'string', pattern: '^[0-9]$' })).toBe(null);
  });
});
