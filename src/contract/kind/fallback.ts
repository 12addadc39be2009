/**
 * The named fallbacks [data-processing §6.3]: each a function of the frame alone, so that the
 * service can recompute every number that a fallback claims.
 */
import type { NormalisedFrame } from '../../api/processing.ts';
import { dayMs, formatTimestamp } from '../../base/timestamp.ts';
import { localMs } from '../../site/local-time.ts';
import type { FallbackPolicy, FallbackStrategy } from '../task/declaration.ts';
import { timeMs } from '../wire/normal-times.ts';

export interface FallbackForecast {
  /** One value per step of the horizon. */
  readonly values: readonly number[];
  /** The newest history label that the strategy used. */
  readonly basedOnDataThrough: string;
}

/** The members that define a strategy; the other members of a policy govern its use. */
export type NaiveRule = Pick<FallbackPolicy, 'strategy' | 'source_feature' | 'season_seconds' | 'weeks'>;

/** One value per step, null where the frame lacks what the strategy needs. Seasons follow the task's `timezone`. */
export function naiveForecast(
  rule: NaiveRule,
  frame: NormalisedFrame,
  timezone: string,
  horizonSteps: number,
): readonly (number | null)[] {
  return stepsOf(rule, frame, timezone, horizonSteps).map((used) => used?.value ?? null);
}

function stepsOf(
  rule: NaiveRule,
  frame: NormalisedFrame,
  timezone: string,
  horizonSteps: number,
): readonly (Used | null)[] {
  const history = numbersOf(frame, rule.source_feature, timezone);
  return Array.from({ length: horizonSteps }, (_, index) =>
    history === null ? null : strategies[rule.strategy](history, index, rule),
  );
}

/** Null when the frame lacks what the strategy needs. No value is made up. */
export function fallbackForecast(
  policy: FallbackPolicy,
  frame: NormalisedFrame,
  timezone: string,
  horizonSteps: number,
): FallbackForecast | null {
  const steps = stepsOf(policy, frame, timezone, horizonSteps);
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
  /** Of the newest label. */
  readonly lastMs: number;
  readonly cadenceMs: number;
  readonly timezone: string;
}

interface Used {
  readonly value: number;
  /** Index of the newest label that the value is computed from. */
  readonly newest: number;
}

/** The value of horizon step `index` (0 is the first label after `as_of`). */
type Strategy = (history: History, index: number, rule: NaiveRule) => Used | null;

const strategies: Readonly<Record<FallbackStrategy, Strategy>> = {
  /** The last usable value, repeated. */
  persistence({ values }) {
    const newest = values.findLastIndex((value) => value !== null);
    const value = values[newest] ?? null;
    return value === null ? null : { value, newest };
  },

  /** The same label one season before; beyond one season, that season repeated. */
  'seasonal-naive'(history, index, policy) {
    const newest = labelBefore(history, index, seasonMs(policy), 1);
    const value = history.values[newest] ?? null;
    return value === null ? null : { value, newest };
  },

  /** The mean of the same label over the declared weeks that have a value. */
  'historical-average'(history, index, policy) {
    const season = seasonMs(policy);
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

function seasonMs({ season_seconds, strategy }: NaiveRule): number {
  if (season_seconds === null) throw new Error(`${strategy} was declared without a season`);
  return season_seconds * 1000;
}

/** Index of the label `seasons` whole seasons before the step, counted from the newest one that is not in the future. */
function labelBefore(history: History, index: number, season: number, seasons: number): number {
  const { lastMs, cadenceMs, values } = history;
  const labelMs = lastMs + (index + 1) * cadenceMs;
  let nearest = Math.ceil((labelMs - lastMs) / season);
  while (sameTimeBefore(labelMs, nearest * season, history) > lastMs) nearest++;
  const beforeMs = sameTimeBefore(labelMs, (nearest + seasons - 1) * season, history);
  return values.length - 1 - (lastMs - beforeMs) / cadenceMs;
}

/**
 * The label `agoMs` before. Whole days are counted by the clocks of the zone, so that a label is compared with the same local
 * time. If its local hour is skipped or repeated by a clock change, it is compared with the label exactly `agoMs` before.
 */
function sameTimeBefore(labelMs: number, agoMs: number, { cadenceMs, timezone }: History): number {
  const exactMs = labelMs - agoMs;
  if (agoMs % dayMs !== 0) return exactMs;
  // The middle of an interval tells which side of a clock change it is on.
  const local = (ms: number): number => localMs(ms - cadenceMs / 2, timezone);
  const shiftMs = local(labelMs) - local(exactMs) - agoMs;
  if (shiftMs === 0) return exactMs;
  const localBeforeMs = exactMs + shiftMs;
  const isUnique = (ms: number): boolean => [-1, 1].every((side) => local(ms + side * Math.abs(shiftMs)) !== local(ms));
  const found = local(localBeforeMs) === local(labelMs) - agoMs && shiftMs % cadenceMs === 0;
  return found && isUnique(labelMs) && isUnique(localBeforeMs) ? localBeforeMs : exactMs;
}

function numbersOf(frame: NormalisedFrame, feature: string, timezone: string): History | null {
  const series = frame.history.features[feature];
  const last = frame.history.timestamps.at(-1);
  if (series?.value_type !== 'number' || last === undefined) return null;
  return { values: series.values, lastMs: timeMs(last), cadenceMs: frame.cadence_seconds * 1000, timezone };
}
