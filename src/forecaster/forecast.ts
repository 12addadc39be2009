/** One sample in, one forecast out. */

import { dayMs } from '../base/timestamp.ts';
import { type Ground, groundOf } from './ground.ts';
import { interpolate, levels } from './levels.ts';
import { type LocalSample, onLocalTime } from './local-grid.ts';
import { darkSteps, followsLight } from './night.ts';
import { fitRegression, predictRegression, type RegressionFit } from './regression.ts';
import type { Sample } from './sample.ts';
import { forecastSeries } from './series/combination.ts';

export interface Ask {
  readonly minimum: number | undefined;
  readonly probabilities: Float64Array;
}

export interface ForecastAnswer {
  readonly value: Float64Array;
  readonly quantiles: readonly Float64Array[];
}

/**
 * The part of a local history that fits may use: whole days up to the last midnight, from the first midnight that the frame
 * of any hour of that day would still hold. All requests of one day therefore share one fit.
 */
export function fittingPart(sample: Sample): Sample {
  const { startMs, cadenceMs, count, target } = sample;
  const endMs = startMs + (count - 1) * cadenceMs;
  const first = Math.round((Math.ceil(startMs / dayMs) * dayMs - startMs) / cadenceMs) + 1;
  const last = Math.floor((Math.floor(endMs / dayMs) * dayMs - startMs) / cadenceMs);
  return {
    ...sample,
    startMs: startMs + first * cadenceMs,
    count: last + 1 - first,
    target: target.slice(first, last + 1),
    covariates: sample.covariates.map(({ name, values }) => ({ name, values: values.slice(first, last + 1) })),
  };
}

/** The fit of a part of a history, or a cached one of the very same part. */
export type RecallFit = (part: Sample, make: () => RegressionFit) => RegressionFit;

/** Cells per day up to which the single-series models are fast enough. */
const seriesDayMax = 48;

function distributionsOf(ground: Ground, recall: RecallFit): readonly Float64Array[] {
  const { perDay, sample } = ground;
  if (perDay === 0) throw new Error('the cadence does not divide a day');
  if (sample.covariates.length === 0 && perDay <= seriesDayMax) {
    const own = forecastSeries(ground.filled, sample.horizon, perDay);
    if (own !== null) return own.rows;
  }
  const part = fittingPart(sample);
  const fit = recall(part, () => fitRegression(groundOf(part)));
  const endCell = (part.startMs - sample.startMs) / sample.cadenceMs + part.count;
  return predictRegression(fit, ground, sample.count - endCell);
}

/** People live by the clock, the sun does not: a light-driven target keeps its grid. */
function onSeasonTime(sample: Sample): LocalSample {
  if (!followsLight(groundOf(sample))) return onLocalTime(sample);
  return { sample, steps: Int32Array.from({ length: sample.horizon }, (_, step) => step) };
}

export function forecastSample(sample: Sample, ask: Ask, recall: RecallFit = (_, make) => make()): ForecastAnswer {
  const { sample: local, steps } = onSeasonTime(sample);
  const ground = groundOf(local);
  const rows = distributionsOf(ground, recall);
  const least = ask.minimum ?? Number.NEGATIVE_INFINITY;
  // A non-negative target is exactly zero at night, without the spread of the neighbouring hours.
  const dark = ask.minimum === 0 ? darkSteps(ground) : null;
  const read = (probability: number): Float64Array =>
    Float64Array.from(steps, (step) =>
      dark?.[step] === 1 ? 0 : Math.max(least, interpolate(levels, rows[step] as Float64Array, probability)),
    );
  return { value: read(0.5), quantiles: Array.from(ask.probabilities, read) };
}
