import fc from 'fast-check';
import { expect, test } from 'vitest';
import { axisRange, placeIn, shownRange } from './shown-range.ts';

const box = { height: 24, edge: 2 };

test('means of a constant value, which differ by rounding, have an empty range', () => {
  const means = [300, 299, 7].map((count) => Array.from({ length: count }, () => 52.1).reduce((a, b) => a + b) / count);
  expect(new Set(means).size).toBeGreaterThan(1);
  const range = shownRange(means);
  expect(range?.high).toBe(range?.low);
  expect(means.map(placeIn(range, box))).toEqual([12, 12, 12]);
});

test('a small change of a large counter is shown', () => {
  expect(shownRange([1e6, null, 1e6 + 0.1])).toEqual({ low: 1e6, high: 1e6 + 0.1 });
  expect([0, 5, 10].map(placeIn(shownRange([0, 5, 10]), box))).toEqual([22, 12, 2]);
});

test('without values there is no range, and the axis is -1 to 1', () => {
  expect(shownRange([null, undefined])).toBeNull();
  expect(axisRange([null])).toEqual([-1, 1]);
  expect(placeIn(null, box)(7)).toBe(12);
});

test('an axis contains every value, and is wider than the rounding of numbers', () => {
  const values = fc.array(fc.double({ min: -1e9, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(values, (given) => {
      const [low, high] = axisRange(given);
      for (const value of given) expect(value >= low && value <= high).toBe(true);
      expect(high - low).toBeGreaterThan(1e-11 * Math.max(Math.abs(low), Math.abs(high)));
    }),
  );
});
