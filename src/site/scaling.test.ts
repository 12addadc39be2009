/** Raw and engineering values. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { engineeringValue, rawValue } from './scaling.ts';

const decimalScale = fc.integer({ min: 1, max: 6 }).map((digits) => ({ digits, scale: Number(`1e-${digits}`) }));

test('[points §2] a raw value of a decimal scale is the nearest double of the decimal', () => {
  expect(engineeringValue(33, { scale: 0.1, offset: 0 })).toBe(3.3);
  expect(engineeringValue(123_456, { scale: 0.0001, offset: 0 })).toBe(12.3456);
  expect(engineeringValue(33, { scale: -0.1, offset: 1 })).toBe(-2.3);
  fc.assert(
    fc.property(fc.integer({ min: -(2 ** 31), max: 2 ** 32 }), decimalScale, (raw, { digits, scale }) => {
      expect(engineeringValue(raw, { scale, offset: 0 })).toBe(Number(`${raw}e-${digits}`) + 0);
    }),
  );
});

test('[points §2] other scales, and offsets, are one multiplication and one addition', () => {
  expect(engineeringValue(3, { scale: 2.5, offset: -4 })).toBe(3.5);
  expect(engineeringValue(7, { scale: 0.3, offset: 0 })).toBe(7 * 0.3);
  expect(engineeringValue(7, { scale: 1, offset: 0.5 })).toBe(7.5);
});

test('[points §2] zero has no sign in the register, whatever the sign of the scale', () => {
  for (const scale of [-0.1, -2.5, 0.1, 2.5])
    for (const offset of [0, 40]) expect(rawValue(offset, { scale, offset })).toBe(0);
});

test('[points §2] the way back: the register gets the raw value that was read', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -32_768, max: 65_535 }),
      fc.oneof(
        decimalScale.map(({ scale }) => scale),
        fc.constantFrom(1, 2.5, 0.3, -0.1, 10),
      ),
      fc.constantFrom(0, 40, -10),
      (raw, scale, offset) => {
        expect(Math.round(rawValue(engineeringValue(raw, { scale, offset }), { scale, offset }))).toBe(raw);
      },
    ),
  );
});
