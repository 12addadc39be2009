/**
 * The named fallbacks [data-processing §6.3]: each a function of the frame alone, so that the
 * service computes the same numbers again and believes none that it did not compute.
 */
import type { NormalisedFrame } from '../../api/processing.ts';
import { formatTimestamp } from '../../base/timestamp.ts';
import type { FallbackPolicy, FallbackStrategy } from '../task/declaration.ts';
import { timeMs } from '../wire/normal-times.ts';

export interface FallbackForecast {
  /** One value a step of the horizon. */
  readonly values: readonly number[];
  /** The newest history label that the strategy used. */
  readonly basedOnDataThrough: string;
}

/** Null when the frame does not hold what the strategy needs: nothing is invented. */
export function fallbackForecast(
  policy: FallbackPolicy,
  frame: NormalisedFrame,
  horizonSteps: number,
): FallbackForecast | null {
  const history = numbersOf(frame, policy.source_feature);
  if (history === null) return null;
  const steps = Array.from({ length: horizonSteps }, (_, index) => strategies[policy.strategy](history, index, policy));
  const values: number[] = [];
  let newest = -1;
  for (const used of steps) {
    if (used === null) return null;
    values.push(used.value);
    newest = Math.max(newest, used.newest);
  }
  const label = frame.history.timestamps[newest];
  return label === undefined ? null : { values, basedOnDataThrough: formatTimestamp(timeMs(label)) };
}

interface History {
  readonly values: readonly (number | null)[];
  readonly cadenceSeconds: number;
}

interface Used {
  readonly value: number;
  /** Index of the newest label that went into the value. */
  readonly newest: number;
}

/** The value of horizon step `index` (0 is the first label after `as_of`). */
type Strategy = (history: History, index: number, policy: FallbackPolicy) => Used | null;

const strategies: Readonly<Record<FallbackStrategy, Strategy>> = {
  /** The last usable value, repeated. */
  persistence({ values }) {
    const newest = values.findLastIndex((value) => value !== null);
    const value = values[newest] ?? null;
    return value === null ? null : { value, newest };
  },

  /** The same label one season before; beyond one season, that season repeated. */
  'seasonal-naive'(history, index, policy) {
    const newest = labelBefore(history, index, seasonSteps(history, policy), 1);
    const value = history.values[newest] ?? null;
    return value === null ? null : { value, newest };
  },

  /** The mean of the same label over the declared weeks, of those that hold a value. */
  'historical-average'(history, index, policy) {
    const season = seasonSteps(history, policy);
    const used: Used[] = [];
    for (let week = 1; week <= (policy.weeks ?? 0); week++) {
      const at = labelBefore(history, index, season, week);
      const value = history.values[at] ?? null;
      if (value !== null) used.push({ value, newest: at });
    }
    const [first] = used;
    if (first === undefined) return null;
    return { value: used.reduce((sum, each) => sum + each.value, 0) / used.length, newest: first.newest };
  },
};

function seasonSteps(history: History, policy: FallbackPolicy): number {
  if (policy.season_seconds === null) throw new Error(`${policy.strategy} was declared without a season`);
  return policy.season_seconds / history.cadenceSeconds;
}

/** Index of the label `seasons` whole seasons before the step, counted from the newest one that is not in the future. */
function labelBefore(history: History, index: number, season: number, seasons: number): number {
  const last = history.values.length - 1;
  const label = last + 1 + index;
  const nearest = Math.ceil((label - last) / season);
  return label - (nearest + seasons - 1) * season;
}

function numbersOf(frame: NormalisedFrame, feature: string): History | null {
  const series = frame.history.features[feature];
  if (series?.value_type !== 'number') return null;
  return { values: series.values, cadenceSeconds: frame.cadence_seconds };
}
