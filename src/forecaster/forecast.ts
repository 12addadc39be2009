/** Forecasts one sample. */

import type { Explanation } from './explanation.ts';
import { type Ground, groundOf } from './ground.ts';
import { interpolate, levels } from './levels.ts';
import { onLocalTime } from './local-grid.ts';
import { darkSteps, followsLight } from './night.ts';
import { outlookOf, type RecallFit } from './outlook.ts';
import type { Sample } from './sample.ts';

export interface Ask {
  readonly minimum: number | undefined;
  readonly probabilities: Float64Array;
}

export interface ForecastAnswer {
  readonly value: Float64Array;
  readonly quantiles: readonly Float64Array[];
  readonly explanation: Explanation;
}

/** Human activity follows the clock, the sun does not: the grid of a light-driven target is not changed. */
function onSeasonTime(sample: Sample): { readonly ground: Ground; readonly steps: Int32Array } {
  const given = groundOf(sample);
  if (followsLight(given))
    return { ground: given, steps: Int32Array.from({ length: sample.horizon }, (_, step) => step) };
  const { sample: local, steps } = onLocalTime(sample);
  return { ground: groundOf(local), steps };
}

export function forecastSample(sample: Sample, ask: Ask, recall: RecallFit = (_, make) => make()): ForecastAnswer {
  const { ground, steps } = onSeasonTime(sample);
  const { rows, explanation } = outlookOf(ground, recall);
  const least = ask.minimum ?? Number.NEGATIVE_INFINITY;
  // A non-negative target is exactly zero at night, without the spread of the neighbouring hours.
  const dark = ask.minimum === 0 ? darkSteps(ground) : null;
  const read = (probability: number): Float64Array =>
    Float64Array.from(steps, (step) =>
      dark?.[step] === 1 ? 0 : Math.max(least, interpolate(levels, rows[step] as Float64Array, probability)),
    );
  return { value: read(0.5), quantiles: Array.from(ask.probabilities, read), explanation };
}
