/** A rollup as a row of its table (docs/formats/history.md), the same in both engines. */
import type { Rollup } from './rollup.ts';

/** In the order of `rollupOf`. */
export const rollupColumns = [
  'row_count',
  'value_count',
  'sum',
  'sum_low',
  'min',
  'max',
  'last_value',
  'last_ms',
  'flags',
  'lead_ms',
  'ingested_ms',
  // Observations beyond one for each row with a number.
  'repeats',
] as const;

export type RollupValues = Readonly<Record<(typeof rollupColumns)[number], number | null>>;

export function columnsOf(rollup: Rollup): RollupValues {
  const some = rollup.weight > 0;
  const finite = Number.isFinite(rollup.sum + rollup.sumLow);
  return {
    row_count: rollup.rowCount,
    value_count: rollup.valueCount,
    // A sum that overflowed is stored as NULL.
    sum: finite ? rollup.sum : null,
    sum_low: finite ? rollup.sumLow : null,
    min: some ? rollup.min : null,
    max: some ? rollup.max : null,
    last_value: some ? rollup.lastValue : null,
    last_ms: some ? rollup.lastMs : null,
    flags: rollup.flags,
    lead_ms: rollup.leadMs,
    ingested_ms: rollup.ingestedMs,
    repeats: rollup.weight - rollup.valueCount,
  };
}

/** From the columns `rollupColumns`. */
export function rollupOf(row: readonly unknown[]): Rollup {
  const valueCount = Number(row[1]);
  const weight = valueCount + Number(row[11]);
  const some = weight > 0;
  return {
    rowCount: Number(row[0]),
    valueCount,
    weight,
    sum: row[2] === null ? Number.NaN : Number(row[2]),
    sumLow: row[3] === null ? Number.NaN : Number(row[3]),
    min: some ? Number(row[4]) : Number.POSITIVE_INFINITY,
    max: some ? Number(row[5]) : Number.NEGATIVE_INFINITY,
    lastValue: some ? Number(row[6]) : Number.NaN,
    lastMs: some ? Number(row[7]) : Number.NEGATIVE_INFINITY,
    flags: Number(row[8]),
    leadMs: Number(row[9]),
    ingestedMs: Number(row[10]),
  };
}
