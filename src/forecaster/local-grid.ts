/**
 * A sample on the clocks of its site [data-processing §6.3]: daily and weekly seasons follow local time, so the models run on a grid of
 * local time, on which every day has the same number of cells. The hour that a clock change skips has no value there; the hour
 * that it repeats is one cell, the mean of both.
 */
import { localMs } from '../site/local-time.ts';
import type { Sample } from './sample.ts';

export interface LocalSample {
  /** Its labels are local time, counted as if the zone were UTC. */
  readonly sample: Sample;
  /** For each step of the given horizon, the step of the local one. */
  readonly steps: Int32Array;
}

export function onLocalTime(sample: Sample): LocalSample {
  const { startMs, cadenceMs, count, horizon, timeZone } = sample;
  const local = (cell: number): number => {
    // The middle of the interval decides: the cell that ends when the clocks change lies before the change.
    const middleMs = startMs + (cell - 0.5) * cadenceMs;
    return localMs(middleMs, timeZone) + 0.5 * cadenceMs;
  };
  const firstMs = local(0);
  const cells = new Int32Array(count + horizon);
  for (let cell = 0; cell < cells.length; cell++) cells[cell] = Math.round((local(cell) - firstMs) / cadenceMs);
  // Where the horizon begins in a repeated hour, history ends before it: one cell cannot be known and forecast.
  const localCount = Math.min(cells[count - 1] ?? 0, Math.min(...cells.subarray(count)) - 1) + 1;
  const localHorizon = Math.max(...cells.subarray(count)) + 1 - localCount;
  const history = cells.subarray(0, count);
  return {
    sample: {
      ...sample,
      startMs: firstMs,
      count: localCount,
      horizon: localHorizon,
      target: placed(sample.target, history, localCount),
      covariates: sample.covariates.map(({ name, values }) => ({
        name,
        values: placed(values, cells, localCount + localHorizon),
      })),
    },
    steps: cells.subarray(count).map((cell) => cell - localCount),
  };
}

/** The mean of the known values of each cell, NaN for a cell without any. */
function placed(values: Float64Array, cells: Int32Array, length: number): Float64Array {
  const sums = new Float64Array(length);
  const counts = new Uint8Array(length);
  for (let index = 0; index < cells.length; index++) {
    const cell = cells[index] as number;
    const value = values[index] ?? Number.NaN;
    if (cell >= length || Number.isNaN(value)) continue;
    sums[cell] = (sums[cell] as number) + value;
    counts[cell] = (counts[cell] as number) + 1;
  }
  for (let cell = 0; cell < length; cell++) {
    const known = counts[cell] as number;
    sums[cell] = known === 0 ? Number.NaN : (sums[cell] as number) / known;
  }
  return sums;
}
