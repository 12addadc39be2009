/**
 * How far old rows are removed ([points §6.3], docs/formats/history.md), the same for both engines: whole quarter hours, so that no
 * rollup includes deleted rows, and no more rows of a series at a time than a transaction should hold.
 */
import { rollupEndMs, widestRollupMs } from './rollup.ts';

/** Rows at or before it are old. */
export function pruneLimitMs(beforeMs: number): number {
  return Math.floor(beforeMs / widestRollupMs) * widestRollupMs;
}

/**
 * Rows of a series at or before it are deleted now. `portionMs` is the time of the first row after the largest allowed portion,
 * null if there is none.
 */
export function pruneThroughMs(oldestMs: number, portionMs: number | null, limitMs: number): number {
  if (portionMs === null) return limitMs;
  const portionEndMs = Math.floor(portionMs / widestRollupMs) * widestRollupMs;
  return Math.min(limitMs, Math.max(rollupEndMs(oldestMs, widestRollupMs), portionEndMs));
}
