/**
 * Rollups: aggregates of all rows of one series in (end - width, end], so that a window need not read every row
 * [data-processing §4.2]. A rollup also states when it must not be used: `equalsRows` is true only if reducing it
 * gives the same result as reducing the rows themselves.
 */
import { quality } from '../site/quality.ts';
import type { HistoryRow, SeriesRange } from './historian.ts';
import { newestObservedMs } from './observations.ts';

/** Widest first. A width divides the ones before it. */
export const rollupWidthsMs = [900_000, 60_000] as const;
/** Retention removes whole rollups, so that none includes deleted rows. */
export const widestRollupMs = rollupWidthsMs[0];

export const rollupFlags = { duplicates: 1, fractions: 2, uncertain: 4 } as const;

export interface Rollup {
  rowCount: number;
  /** Rows with a number. */
  valueCount: number;
  /** Observations of a number, also those of rows after the rollup. */
  weight: number;
  /** Of the observations. */
  sum: number;
  /** The rounding error of `sum`. */
  sumLow: number;
  min: number;
  max: number;
  lastValue: number;
  /** Event time of the newest number; -Infinity if there is none. */
  lastMs: number;
  flags: number;
  /** The largest difference by which an event time is later than its ingestion time. */
  leadMs: number;
  /** The newest ingestion time. */
  ingestedMs: number;
}

/** The end of the rollup of this width that a moment belongs to: (end - width, end]. */
export function rollupEndMs(eventMs: number, widthMs: number): number {
  return Math.ceil(eventMs / widthMs) * widthMs;
}

export function emptyRollup(): Rollup {
  return {
    rowCount: 0,
    valueCount: 0,
    weight: 0,
    sum: 0,
    sumLow: 0,
    min: Number.POSITIVE_INFINITY,
    max: Number.NEGATIVE_INFINITY,
    lastValue: Number.NaN,
    lastMs: Number.NEGATIVE_INFINITY,
    flags: 0,
    leadMs: Number.NEGATIVE_INFINITY,
    ingestedMs: Number.NEGATIVE_INFINITY,
  };
}

/** The part of `a + b` that rounding loses. NaN when the sum overflows, which makes the whole sum NaN: missing. */
export function roundingLoss(a: number, b: number): number {
  const sum = a + b;
  const b2 = sum - a;
  return a - (sum - b2) + (b - b2);
}

/** Counts a row of the rollup's span. Its observations are added by `addObservations`. */
export function addRow(rollup: Rollup, row: HistoryRow, duplicate: boolean): void {
  rollup.rowCount++;
  if (row.value !== null) rollup.valueCount++;
  addFacts(rollup, row, duplicate);
}

function addFacts(rollup: Rollup, row: HistoryRow, duplicate: boolean): void {
  if (duplicate) rollup.flags |= rollupFlags.duplicates;
  rollup.leadMs = Math.max(rollup.leadMs, row.eventMs - row.ingestedMs);
  rollup.ingestedMs = Math.max(rollup.ingestedMs, row.ingestedMs);
}

/** Adds the `count` observations of `row` that lie in the rollup that ends at `endMs`. */
export function addObservations(
  rollup: Rollup,
  row: HistoryRow,
  endMs: number,
  count: number,
  duplicate: boolean,
): void {
  addFacts(rollup, row, duplicate);
  const { value } = row;
  if (value === null) return;
  rollup.weight += count;
  const total = count * value;
  rollup.sumLow += roundingLoss(rollup.sum, total);
  rollup.sum += total;
  if (value < rollup.min) rollup.min = value;
  if (value > rollup.max) rollup.max = value;
  if (!Number.isInteger(value)) rollup.flags |= rollupFlags.fractions;
  if (row.quality === quality.uncertain) rollup.flags |= rollupFlags.uncertain;
  const observedMs = newestObservedMs(row, endMs);
  if (observedMs > rollup.lastMs) {
    rollup.lastMs = observedMs;
    rollup.lastValue = value;
  }
}

/** Adds `more` to `rollup`; rows may come in any order of time. */
export function mergeRollup(rollup: Rollup, more: Rollup): void {
  rollup.rowCount += more.rowCount;
  rollup.valueCount += more.valueCount;
  rollup.weight += more.weight;
  rollup.sumLow += more.sumLow + roundingLoss(rollup.sum, more.sum);
  rollup.sum += more.sum;
  rollup.min = Math.min(rollup.min, more.min);
  rollup.max = Math.max(rollup.max, more.max);
  rollup.flags |= more.flags;
  rollup.leadMs = Math.max(rollup.leadMs, more.leadMs);
  rollup.ingestedMs = Math.max(rollup.ingestedMs, more.ingestedMs);
  if (more.lastMs > rollup.lastMs) {
    rollup.lastMs = more.lastMs;
    rollup.lastValue = more.lastValue;
  }
}

export function rowInRange(value: number, range: SeriesRange): boolean {
  if (range.minimum !== undefined && value < range.minimum) return false;
  if (range.maximum !== undefined && value > range.maximum) return false;
  if (range.exclusive_minimum !== undefined && value <= range.exclusive_minimum) return false;
  if (range.exclusive_maximum !== undefined && value >= range.exclusive_maximum) return false;
  return range.integer !== true || Number.isInteger(value);
}

/** Only the columns of a rollup that a windowed read needs, for speed. */
export interface RollupSummary {
  readonly rowCount: number;
  /** Observations of a number. */
  readonly weight: number;
  /** Event time of the newest number; -Infinity if there is none. */
  readonly lastMs: number;
  /** `rollupFlags`, and `cutFlag`. */
  readonly flags: number;
  /** The aggregate over the rows of the rollup; a sum for a mean. */
  readonly value: number;
  /** Read only with a range. */
  readonly min: number;
  readonly max: number;
  /** Read only for a trend. */
  readonly lastValue: number;
}

/** Set by a read: some row of the rollup was ingested after the data cut, or comes from the future. */
export const cutFlag = 8;

/** True if no row of the rollup would be excluded from the window or replaced by another one. */
export function equalsRows(
  { flags, weight, min, max }: Pick<RollupSummary, 'flags' | 'weight' | 'min' | 'max'>,
  range: SeriesRange | undefined,
): boolean {
  if ((flags & (rollupFlags.duplicates | cutFlag)) !== 0) return false;
  if (range === undefined || weight === 0) return true;
  if (range.integer === true && (flags & rollupFlags.fractions) !== 0) return false;
  // If the minimum and the maximum are in range, all values are; whether those are whole was checked above.
  return rowInRange(min, range) && rowInRange(max, range);
}
