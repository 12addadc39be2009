/**
 * Deletes rows of [from, to) in batches [points §6.2], the same on both engines, with the observations in that range that a later
 * row represents, and rebuilds the affected rollups from the remaining rows.
 */
import type { ChangedRollup } from './append.ts';
import { exportedRow } from './export.ts';
import type { HistoryRow } from './historian.ts';
import { eachSpan, observedIn } from './observations.ts';
import {
  addObservations,
  addRow,
  emptyRollup,
  type Rollup,
  rollupEndMs,
  rollupWidthsMs,
  widestRollupMs,
} from './rollup.ts';

/** Longest span of one transaction: recording waits for it. */
export const deletePortionMs = 6 * 3_600_000;

/** A stored row. */
export interface KeptRow extends HistoryRow {
  readonly ordinal: number;
}

/** From `rowColumns` and the ordinal. */
export function keptRow(series: HistoryRow['series'], row: readonly unknown[]): KeptRow {
  const [, , , , observations, since, ordinal] = row;
  return {
    ...exportedRow(series, row),
    ordinal: Number(ordinal),
    ...(since !== null && { observations: { count: Number(observations), sinceMs: Number(since) } }),
  };
}

/** Rollups in (afterMs, throughMs] are rebuilt; `sinceMs` is the earliest time that a deleted row represents, null for none. */
export function touchedSpan(fromMs: number, toMs: number, sinceMs: number | null) {
  const firstMs = Math.min(fromMs, sinceMs === null ? fromMs : sinceMs + 1);
  return {
    afterMs: rollupEndMs(firstMs, widestRollupMs) - widestRollupMs,
    throughMs: rollupEndMs(toMs, widestRollupMs),
  };
}

/**
 * The row after the deleted span without its observations in the span; null if it has none, or also has some from before: then
 * it belongs to a run that the deleted rows only interrupt, such as imported rows.
 */
export function withoutReach<R extends HistoryRow>(row: R, fromMs: number, toMs: number): R | null {
  const { observations } = row;
  if (observations === undefined || observations.sinceMs >= toMs - 1 || observations.sinceMs < fromMs) return null;
  const count = observedIn(row, toMs - 1, row.eventMs);
  return { ...row, observations: { count, sinceMs: toMs - 1 } };
}

/** The rollups of `rows` that end in (afterMs, throughMs]; rows may lie after it. */
export function rollupsOf(
  series: number,
  rows: readonly KeptRow[],
  { afterMs, throughMs }: ReturnType<typeof touchedSpan>,
): ChangedRollup[] {
  return rollupWidthsMs.flatMap((widthMs) => {
    const rollups = new Map<number, Rollup>();
    const at = (endMs: number): Rollup => {
      const rollup = rollups.get(endMs) ?? emptyRollup();
      // Rows outside are counted in a rollup that is discarded.
      if (endMs > afterMs && endMs <= throughMs) rollups.set(endMs, rollup);
      return rollup;
    };
    for (const row of rows) {
      const isDuplicate = row.ordinal > 0;
      addRow(at(rollupEndMs(row.eventMs, widthMs)), row, isDuplicate);
      eachSpan(row, widthMs, (endMs, count) => addObservations(at(endMs), row, endMs, count, isDuplicate));
    }
    return [...rollups].map(([endMs, rollup]) => ({ series, widthMs, endMs, rollup }));
  });
}
