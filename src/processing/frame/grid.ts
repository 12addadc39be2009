/**
 * The exact grids of a frame [data-processing §3.2]: labels are interval ends; history ends at `as_of`, future begins
 * one cadence later. Labels are never dropped or moved.
 */
import { formatTimestamp } from '../../base/timestamp.ts';

export interface Grid {
  readonly firstMs: number;
  readonly cadenceMs: number;
  readonly steps: number;
}

export function historyGrid(asOfMs: number, cadenceMs: number, steps: number): Grid {
  return { firstMs: asOfMs - (steps - 1) * cadenceMs, cadenceMs, steps };
}

export function futureGrid(asOfMs: number, cadenceMs: number, steps: number): Grid {
  return { firstMs: asOfMs + cadenceMs, cadenceMs, steps };
}

export function labelMs(grid: Grid, index: number): number {
  return grid.firstMs + index * grid.cadenceMs;
}

export function label(grid: Grid, index: number): string {
  return formatTimestamp(labelMs(grid, index));
}

export function labels(grid: Grid): string[] {
  const written: string[] = [];
  for (let index = 0; index < grid.steps; index++) written.push(label(grid, index));
  return written;
}

/** The label whose interval (t-c, t] holds the instant. */
export function gridLabel(grid: Grid, instantMs: number): string {
  return label(grid, Math.ceil((instantMs - grid.firstMs) / grid.cadenceMs));
}
