/**
 * The input of a forecast: one target on an exact grid with the covariates known over the horizon, as typed arrays
 * ([data-processing §3.2] ProcessingFrame, time invariants). A missing cell is NaN in a sample, and null in a frame.
 */
import { dayMs } from '../base/timestamp.ts';

export interface Covariate {
  readonly name: string;
  /** History followed by horizon: `count + horizon` cells. */
  readonly values: Float64Array;
}

export interface Sample {
  /** Label of the first history cell; labels are interval ends. */
  readonly startMs: number;
  readonly cadenceMs: number;
  /** History cells. */
  readonly count: number;
  /** Cells to forecast. */
  readonly horizon: number;
  readonly target: Float64Array;
  readonly covariates: readonly Covariate[];
  /** IANA zone of the site: its days are the seasons. */
  readonly timeZone: string;
}

/** Cells of one day, or 0 when the cadence does not divide a day. */
export function cellsPerDay(cadenceMs: number): number {
  return dayMs % cadenceMs === 0 ? dayMs / cadenceMs : 0;
}
