/**
 * Selects the run for the future grid [data-processing §4.8]: the newest one issued at or
 * before `as_of`, its watermark too, that covers the whole grid with every field that the dataset's features need.
 */
import { type Grid, labelMs } from '../frame/grid.ts';
import type { CovariateRun } from './covariate-run.ts';

export type RunChoice =
  /** `newest` is false when a newer run was issued in time but does not cover the grid: using this one is a fallback. */
  | { readonly kind: 'run'; readonly run: CovariateRun; readonly newest: boolean }
  /** `late`: a run issued in time covers the grid, but its watermark lies after `as_of`. */
  | { readonly kind: 'none'; readonly late: CovariateRun | null };

export function selectRun(
  runs: readonly CovariateRun[],
  fields: readonly string[],
  grid: Grid,
  asOfMs: number,
): RunChoice {
  const issued = runs
    .filter((run) => run.issuedMs <= asOfMs)
    // Of two runs issued together the one with the newer data cut is the newer; a stable sort keeps the file's order.
    .sort((one, other) => other.issuedMs - one.issuedMs || other.watermarkMs - one.watermarkMs);
  const intime = issued.filter((run) => run.watermarkMs <= asOfMs);
  const run = intime.find((candidate) => covers(candidate, fields, grid));
  if (run !== undefined) return { kind: 'run', run, newest: run === intime[0] };
  return { kind: 'none', late: issued.find((candidate) => covers(candidate, fields, grid)) ?? null };
}

function covers(run: CovariateRun, fields: readonly string[], grid: Grid): boolean {
  if (!fields.every((field) => run.fields.has(field))) return false;
  for (let index = 0; index < grid.steps; index++) if (!run.positions.has(labelMs(grid, index))) return false;
  return true;
}
