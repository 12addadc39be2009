/** Time spans for which trends are requested. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wholeBuckets } from './trend-span.ts';

test('a day in 720 buckets is of two minutes each, a span within a minute of seconds', () => {
  expect(wholeBuckets({ from: 30, to: 86_430 }, 720)).toEqual({ from: 120, to: 86_520, buckets: 720 });
  // The longest window that the service accepts is not extended.
  const year = wholeBuckets({ from: 1_700_000_001 - 34_560_000, to: 1_700_000_001 }, 720);
  expect([year.to - year.from, year.buckets]).toEqual([34_560_000, 720]);
  expect(wholeBuckets({ from: 7, to: 40 }, 720)).toEqual({ from: 7, to: 40, buckets: 33 });
});

test('the span is in it but for a part of a bucket, buckets are whole, and of whole minutes where they are that wide', () => {
  const second = fc.integer({ min: 0, max: 4_000_000_000 });
  fc.assert(
    fc.property(
      second,
      fc.integer({ min: 1, max: 40_000_000 }),
      fc.integer({ min: 1, max: 1999 }),
      (from, wide, most) => {
        const span = wholeBuckets({ from, to: from + wide }, most);
        const step = (span.to - span.from) / span.buckets;
        expect(span.from).toBeLessThan(from + step);
        expect(span.to).toBeGreaterThanOrEqual(from + wide);
        expect([Number.isInteger(span.buckets), Number.isInteger(step)]).toEqual([true, true]);
        expect(span.buckets).toBeLessThanOrEqual(most);
        if (step >= 60) expect([step % 60, span.from % 60]).toEqual([0, 0]);
      },
    ),
  );
});
