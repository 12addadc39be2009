/** The trend of one point [points §8.2]: buckets over recorded history, from rollups wherever these are exact. */
import type { Clock } from '../base/clock.ts';
import { deadline, timeIsUp } from '../base/deadline.ts';
import { Fault } from '../base/fault.ts';
import { dayMs, queryTime, timeLabel } from '../base/timestamp.ts';
import type { HistoryReader, SeriesId } from '../historian/historian.ts';

/** Longest window of one trend, in days. */
export const trendDaysMax = 400;
const defaultBuckets = 600;

interface TrendRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly bucketMs: number;
  readonly steps: number;
}

/** Which buckets a request names; throws a Fault that says what is wrong with it. */
export function trendRange(from: string, to: string, buckets: number = defaultBuckets): TrendRange {
  const [fromMs, toMs] = [queryTime('from', from), queryTime('to', to)];
  if (toMs <= fromMs) throw new Fault('invalid-input', 'query /to: must be after from');
  if (toMs - fromMs > trendDaysMax * dayMs)
    throw new Fault(
      'invalid-input',
      `query /from: the window is longer than ${trendDaysMax} days; ask for a shorter one`,
    );
  const bucketMs = Math.ceil((toMs - fromMs) / buckets / 1000) * 1000;
  return { fromMs, toMs, bucketMs, steps: Math.ceil((toMs - fromMs) / bucketMs) };
}

/**
 * Buckets with observations, the oldest first; each holds what was observed after `t`, up to and with its end. Throws Fault
 * `deadline-exceeded` after `timeoutMs`.
 */
export async function trendOf(
  history: HistoryReader,
  series: SeriesId,
  { fromMs, bucketMs, steps }: Omit<TrendRange, 'toMs'>,
  clock: Clock,
  timeoutMs: number,
) {
  const limit = deadline(clock, timeoutMs);
  try {
    const snapshot = await history.snapshot([series]);
    try {
      const request = {
        series,
        asOfMs: fromMs + steps * bucketMs,
        cadenceMs: bucketMs,
        steps,
        aggregation: 'trend',
        duplicatePolicy: 'latest',
        maxSourceSkewMs: Number.POSITIVE_INFINITY,
      } as const;
      const { cells, trend } = await snapshot.window(request, limit.signal);
      if (trend === null) throw new Error('a trend was asked for');
      return [...cells].flatMap((mean, index) => {
        const observations = trend.observations[index] ?? 0;
        if (observations === 0 || !Number.isFinite(mean)) return [];
        const [min, max, last] = [trend.min, trend.max, trend.last].map((each) => each[index] ?? mean);
        return [{ t: timeLabel(fromMs + index * bucketMs), min, max, mean, last, observations }];
      });
    } finally {
      await snapshot.close();
    }
  } catch (error) {
    if (!timeIsUp(limit.signal)) throw error;
    throw new Fault('deadline-exceeded', 'the trend could not be read in time; ask for a shorter window', {
      cause: error,
    });
  } finally {
    limit.cancel();
  }
}
