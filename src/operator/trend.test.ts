/** The buckets of a trend, at the limits of what may be asked for [points §8.2]. */
import { describe, expect, test } from 'vitest';
import { dayMs, timeLabel } from '../base/timestamp.ts';
import { historyLimits } from '../historian/limits.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { trendDaysMax, trendOf, trendRange } from './trend.ts';

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

test('[points §8.2] `trend_timeout_ms` at its edge: a read that ends in time is answered, a later one is refused', async () => {
  const timeoutMs = historyLimits.trend_timeout_ms;
  for (const takesMs of [timeoutMs - 1, timeoutMs]) {
    const clock = simulatedClock();
    let closed = 0;
    const window = (_: unknown, signal: AbortSignal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        clock.after(takesMs, () => {
          const [cells, column] = [[5], [5]];
          resolve({ cells, trend: { observations: [1], min: column, max: column, last: column } });
        });
      });
    const snapshot = async () => ({ window, close: async () => void closed++ });
    const history = { snapshot } as unknown as Parameters<typeof trendOf>[0];
    const read = trendOf(history, { instance: 1, point: 1 }, trendRange(from, after(1000), 1), clock, timeoutMs);
    const settled = read.then(
      (buckets) => buckets.length,
      (error: Error) => error.message,
    );
    await Promise.resolve();
    clock.advance(timeoutMs);
    expect(await settled).toEqual(takesMs < timeoutMs ? 1 : expect.stringContaining('ask for a shorter window'));
    expect(closed).toBe(1);
  }
});

test('[points §8.2] a bucket without a usable value is left out; the others have its begin, extremes, mean, last value and number', async () => {
  const nan = Number.NaN;
  const answer = {
    cells: [nan, 2, nan, 5],
    trend: { observations: [0, 3, 2, 1], min: [nan, 1, nan, 5], max: [nan, 4, nan, 5], last: [nan, 3, nan, 5] },
  };
  const asked: { readonly asOfMs: number; readonly cadenceMs: number; readonly steps: number }[] = [];
  const window = async (request: (typeof asked)[number]) => {
    asked.push(request);
    return answer;
  };
  const history = { snapshot: async () => ({ window, close: async () => undefined }) };
  const range = trendRange(from, after(240_000), 4);
  const reader = history as unknown as Parameters<typeof trendOf>[0];
  expect(await trendOf(reader, { instance: 1, point: 1 }, range, simulatedClock(), 1000)).toEqual([
    { t: after(60_000), min: 1, max: 4, mean: 2, last: 3, observations: 3 },
    { t: after(180_000), min: 5, max: 5, mean: 5, last: 5, observations: 1 },
  ]);
  expect(asked).toMatchObject([{ asOfMs: Date.parse(from) + 240_000, cadenceMs: 60_000, steps: 4 }]);
});
