import { expect, test } from 'vitest';
import { meanPath } from './mean-path.ts';

const at = (minute: number): string => new Date(minute * 60_000).toISOString();

test('a gap of more than three buckets breaks the line, by the width of the buckets that came', () => {
  const buckets = [0, 1, 4, 9, 10].map((minute) => ({ t: at(minute), mean: minute }));
  const path = (bucketSeconds: number): string =>
    meanPath({ from: at(0), to: at(240), bucket_seconds: bucketSeconds, buckets }, 240, (mean) => mean);
  expect(path(60)).toBe('M0.0 0.0L1.0 1.0L4.0 4.0M9.0 9.0L10.0 10.0');
  expect(path(120)).toBe('M0.0 0.0L1.0 1.0L4.0 4.0L9.0 9.0L10.0 10.0');
  expect(meanPath({ from: at(0), to: at(240), bucket_seconds: 60, buckets: [] }, 240, (mean) => mean)).toBe('');
});
