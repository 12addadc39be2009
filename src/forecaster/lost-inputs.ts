/**
 * Covariates that end before the horizon does. Unknown future values are not invented: the steps concerned are forecast by models
 * that never used the covariate, whose bands are wider accordingly.
 */
import { lineCells } from './ground.ts';
import type { Sample } from './sample.ts';

/** How long a covariate must be constant to be called stuck, and how much longer than ever before. */
const stuckMs = 21_600_000;
const stuckTimes = 2;
/** With at least this many different values a covariate is a measurement, not a flag. */
const measuredValuesMin = 10;
/** Age from which the newest value of a covariate in the history is stale. */
const staleMs = 86_400_000;

export interface InputLoss {
  readonly name: string;
  /** Per step of the horizon: 1 where it is unknown. */
  readonly steps: Uint8Array;
  /** `stuck`: there are values, but they stopped changing. */
  readonly how: 'missing' | 'stuck';
}

export function lostInputs({ covariates, count, horizon, cadenceMs }: Sample): readonly InputLoss[] {
  return covariates.flatMap(({ name, values }): InputLoss[] => {
    const missing = gapsAhead(values, count, lineCells(cadenceMs));
    if (missing.includes(1)) return [{ name, steps: missing, how: 'missing' }];
    const still = stillCells(values);
    if (still < stuckMs / cadenceMs || still <= stuckTimes * longestRun(values, values.length - still)) return [];
    if (new Set(values).size < measuredValuesMin) return [];
    const steps = Uint8Array.from({ length: horizon }, (_, step) => (count + step >= values.length - still ? 1 : 0));
    return [{ name, steps, how: 'stuck' }];
  });
}

/** Names of the covariates whose history ended more than a day before the target's. */
export function staleInputs({ covariates, count, cadenceMs }: Sample): readonly string[] {
  const isStale = (values: Float64Array): boolean => {
    const newest = values.subarray(0, count).findLastIndex((value) => !Number.isNaN(value));
    return (count - 1 - newest) * cadenceMs > staleMs;
  };
  return covariates.filter(({ values }) => isStale(values)).map(({ name }) => name);
}

/** The sample without the covariates of these names. */
export function withoutInputs(sample: Sample, names: ReadonlySet<string>): Sample {
  return { ...sample, covariates: sample.covariates.filter(({ name }) => !names.has(name)) };
}

/** Steps in gaps that are too long to be filled. */
function gapsAhead(values: Float64Array, count: number, lineMax: number): Uint8Array {
  const steps = new Uint8Array(values.length - count);
  let last = -1;
  for (let cell = 0; cell <= values.length; cell++) {
    const ends = cell === values.length;
    if (!ends && Number.isNaN(values[cell])) continue;
    if (cell - last - 1 > lineMax) steps.fill(1, Math.max(0, last + 1 - count), Math.max(0, cell - count));
    last = cell;
  }
  return steps;
}

/** Cells at the end that all have one value. */
function stillCells(values: Float64Array): number {
  const newest = values.at(-1);
  return values.length - 1 - values.findLastIndex((value) => value !== newest);
}

/** The longest run of one value (a night, dry days) before cell `until`. */
function longestRun(values: Float64Array, until: number): number {
  let longest = 0;
  let run = 0;
  for (let cell = 1; cell < until; cell++) {
    run = values[cell] === values[cell - 1] ? run + 1 : 0;
    longest = Math.max(longest, run + 1);
  }
  return longest;
}
