/**
 * How far old rows are removed ([points §6.3], docs/formats/history.md), the same for both engines: whole quarter hours, so that no
 * rollup speaks of rows that are gone, and not more of a series at a time than a transaction should hold.
 */
import { rollupEndMs, widestRollupMs } from './rollup.ts';

/** Rows at or before it are old. */
export function pruneLimitMs(beforeMs: number): number {
  return Math.floor(beforeMs / widestRollupMs) * widestRollupMs;
}

/**
 * Rows of a series at or before it go now. `portionMs` is the time of the row that comes after as many as may go at a time,
 * null when there is none.
 */
export function pruneThroughMs(oldestMs: number, portionMs: number | null, limitMs: number): number {
  if (portionMs === null) return limitMs;
  const portionEndMs = Math.floor(portionMs / widestRollupMs) * widestRollupMs;
  return Math.min(limitMs, Math.max(rollupEndMs(oldestMs, widestRollupMs), portionEndMs));
}
