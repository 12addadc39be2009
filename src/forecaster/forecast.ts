/** One sample in, one forecast out. */
import { groundOf } from './ground.ts';
import { interpolate, levels } from './levels.ts';
import { fitRegression, predictRegression, type RegressionFit } from './regression.ts';
import { cellsPerDay, dayMs, type Sample } from './sample.ts';
import { forecastSeries } from './series/combination.ts';

export interface Ask {
  readonly minimum: number | undefined;
  readonly probabilities: Float64Array;
}

export interface Answer {
  readonly value: Float64Array;
  readonly quantiles: readonly Float64Array[];
}

/**
 * The part of the history that fits may use: whole days up to the last midnight, from the first midnight that the frame
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

/** Gives the fit of a part of a history: made anew, or one that was made before from the very same part. */
export type RecallFit = (part: Sample, make: () => RegressionFit) => RegressionFit;

/** Cells of a day up to which the models of a single series are quick enough. */
const seriesDayMax = 48;

function distributionsOf(sample: Sample, recall: RecallFit): readonly Float64Array[] {
  const perDay = cellsPerDay(sample.cadenceMs);
  if (perDay === 0) throw new Error('the cadence does not divide a day');
  const ground = groundOf(sample);
  if (sample.covariates.length === 0 && perDay <= seriesDayMax) {
    const own = forecastSeries(ground.filled, sample.horizon, perDay);
    if (own !== null) return own.rows;
  }
  const part = fittingPart(sample);
  const fit = recall(part, () => fitRegression(groundOf(part)));
  return predictRegression(fit, ground, sample.count, sample.count + sample.horizon);
}

export function forecastSample(sample: Sample, ask: Ask, recall: RecallFit = (_, make) => make()): Answer {
  const rows = distributionsOf(sample, recall);
  const least = ask.minimum ?? Number.NEGATIVE_INFINITY;
  const at = (row: Float64Array, probability: number): number => Math.max(least, interpolate(levels, row, probability));
  return {
    value: Float64Array.from(rows, (row) => at(row, 0.5)),
    quantiles: Array.from(ask.probabilities, (probability) => Float64Array.from(rows, (row) => at(row, probability))),
  };
}
