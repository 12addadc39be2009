/** Which buckets a trend has, at the limits of what may be asked for [points §8.2]. */
import { describe, expect, test } from 'vitest';
import { dayMs, timeLabel } from '../base/timestamp.ts';
import { trendDaysMax, trendRange } from './trend.ts';

const from = '2026-01-01T00:00:00Z';
const after = (ms: number): string => timeLabel(Date.parse(from) + ms);

describe('[points §8.2] buckets', () => {
  test.each([
    [600_000, 600, 1, 600],
    [600_001, 600, 2, 301],
    [400, 600, 1, 1],
    [dayMs, 96, 900, 96],
    [dayMs, 1, 86_400, 1],
  ])('%d ms in %d buckets are of %d s, %d of them', (spanMs, buckets, seconds, steps) => {
    expect(trendRange(from, after(spanMs), buckets)).toMatchObject({ bucketMs: seconds * 1000, steps });
  });

  test('a window of `trendDaysMax`, and one that is longer', () => {
    expect(trendRange(from, after(trendDaysMax * dayMs)).steps).toBe(600);
    expect(() => trendRange(from, after(trendDaysMax * dayMs + 1))).toThrow(/longer than 400 days/);
  });

  test.each([
    [from, from, /after from/],
    ['2026-01-01', from, /query \/from: must be RFC 3339 UTC/],
    [from, '2026-01-01T00:00:00+01:00', /query \/to: must be RFC 3339 UTC/],
  ])('%s to %s is refused', (begin, end, reason) => {
    expect(() => trendRange(begin, end)).toThrow(reason);
  });
});
