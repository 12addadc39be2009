/** What the cursor reads from a trend. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readRow } from './trend-reading.ts';

const times = [100, 200, 300, 320, 900, 1000];
/** The line ends at 300; the row after it breaks it. */
const values = [1, 2, 3, null, 4, 5];
const reach = 10;

test('on a line the nearer value is read, of steps the earlier one', () => {
  const read = (at: number, steps: boolean) => readRow(values, times, at, steps, reach);
  expect([100, 149, 151, 200, 260].map((at) => read(at, false))).toEqual([0, 0, 1, 1, 2]);
  expect([100, 149, 151, 200, 260].map((at) => read(at, true))).toEqual([0, 0, 0, 1, 1]);
});

test('nothing is read before the first value, after the last one and in a gap, but for the reach', () => {
  for (const steps of [false, true]) {
    const read = (at: number) => readRow(values, times, at, steps, reach);
    expect([0, 89, 90].map(read)).toEqual([null, null, 0]);
    expect([310, 311, 330, 600, 889, 890].map(read)).toEqual([2, null, null, null, null, 4]);
    expect([1010, 1011, 5000].map(read)).toEqual([5, null, null]);
    expect(readRow([], [], 100, steps, reach)).toBeNull();
  }
});

test('a row that is read has a value, and no row lies between it and the time', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 20 }),
      fc.array(fc.option(fc.integer()), { minLength: 20, maxLength: 20 }),
      fc.integer({ min: -50, max: 1050 }),
      fc.boolean(),
      (unsorted, column, at, steps) => {
        const rows = unsorted.toSorted((a, b) => a - b);
        const read = readRow(column, rows, at, steps, reach);
        if (read === null) return;
        expect(column[read]).not.toBeNull();
        const own = rows[read] ?? 0;
        expect(rows.filter((time) => (time > own && time < at) || (time < own && time > at))).toEqual([]);
      },
    ),
  );
});
