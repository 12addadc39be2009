import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shownBand, valueAtShare } from './threshold-place.ts';

describe('the chart of a threshold', () => {
  test('shows every value and the threshold with room around them', () => {
    const numbers = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(numbers, fc.option(fc.double({ min: -1e6, max: 1e6, noNaN: true })), (values, threshold) => {
        const band = shownBand(
          values.map((value) => ({ min: value, max: value })),
          threshold,
        );
        expect(band.high).toBeGreaterThan(band.low);
        for (const value of [...values, ...(threshold === null ? [] : [threshold])]) {
          expect(value).toBeGreaterThan(band.low);
          expect(value).toBeLessThan(band.high);
        }
      }),
    );
  });

  test('shows a value that only rounding moves as a flat line', () => {
    expect(shownBand([{ min: 1e6, max: 1e6 + 1e-9 }], null).high).toBeCloseTo(1.1e6, 3);
    expect(shownBand([{ min: 0, max: 5e-324 }], null)).toEqual({ low: -1, high: 1 });
  });

  test('a height is a round value within the shown range', () => {
    expect(valueAtShare(0.5, { low: 0, high: 100 })).toBe(50);
    expect(valueAtShare(0.333, { low: 0, high: 100 })).toBe(33);
    expect(valueAtShare(0.3333, { low: 0, high: 2 })).toBe(0.67);
    expect(valueAtShare(2, { low: 0, high: 100 })).toBe(100);
    expect(valueAtShare(-1, { low: -50, high: 100 })).toBe(-50);
  });
});
