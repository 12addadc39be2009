import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hasDecimalComma, isWithin, meaningsOf, stepped, typedNumber, writtenNumber } from './number-text.ts';

test.each([false, true])('every number that is written is read as itself; decimal comma: %s', (decimalComma) => {
  const number = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    // Three digits after the point, as in groups of thousands.
    fc.integer({ min: -10_000_000, max: 10_000_000 }).map((thousandths) => thousandths / 1000),
  );
  fc.assert(
    fc.property(number, (value) => {
      const text = ` ${writtenNumber(value, decimalComma)} `;
      expect(typedNumber(text, decimalComma)).toBe(Object.is(value, -0) ? 0 : value);
    }),
  );
});

test.each(['', ' ', '-', '.', 'e5', '1e', 'abc', '12kW', '1,5', '0x10', 'Infinity', 'NaN', '1e999', '--1', '1 2'])(
  '%j is not a number',
  (text) => expect(typedNumber(text)).toBeNull(),
);

test('a range holds at its edges', () => {
  expect([-1, 0, 10, 11, 2.5].map((value) => isWithin(value, { min: 0, max: 10 }))).toEqual([
    false,
    true,
    true,
    false,
    true,
  ]);
  expect(isWithin(2.5, { integer: true })).toBe(false);
});

test('steps are whole and stay within the range; nothing steps from 0', () => {
  expect(stepped(0.2, 0.1, {})).toBe(0.3);
  expect(stepped(null, 100, {})).toBe(100);
  expect(stepped(0, -1, { min: 0 })).toBe(0);
  expect(stepped(9, 5, { max: 10 })).toBe(10);
});

test('with a decimal comma, a point that may group thousands makes the text invalid', () => {
  expect(typedNumber('1,5', true)).toBe(1.5);
  expect(typedNumber('-0,25', true)).toBe(-0.25);
  expect(typedNumber('1.5', true)).toBe(1.5);
  for (const text of ['1.500', '12.345.678', '1.500,5', '1,5,0', '1,']) {
    const value = typedNumber(text, true);
    expect([text, value]).toEqual([text, text === '1,' ? 1 : null]);
  }
});

test.each([
  ['en', false],
  ['en-GB', false],
  ['en-NL', true],
  ['en-ZA', true],
  ['de', true],
  ['de-CH', false],
])('numbers in %s have a decimal comma: %s', (tag, comma) => {
  expect(hasDecimalComma(tag)).toBe(comma);
  const shown = new Intl.NumberFormat(tag, { useGrouping: false }).format(1234.5);
  expect(typedNumber(shown, comma)).toBe(1234.5);
});

test('what a refused text may mean is read as such', () => {
  expect(meaningsOf('1.500', true)).toEqual({ whole: '1500', fraction: '1,500' });
  expect(meaningsOf('-12.345.678', true)).toEqual({ whole: '-12345678', fraction: null });
  expect(['1500', '1,500'].map((text) => typedNumber(text, true))).toEqual([1500, 1.5]);
  for (const text of ['1.5', '1.500,5', 'abc', '']) expect(meaningsOf(text, true)).toBeNull();
  expect(meaningsOf('1.500', false)).toBeNull();
});
