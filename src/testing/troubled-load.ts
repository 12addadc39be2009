/** A load with weather and noise, and what happens to it: level shifts, lost inputs, a glitch in the newest cell. */

import { SeededStream } from '../base/seeded.ts';
import { forecastSample } from '../forecaster/forecast.ts';
import type { Sample } from '../forecaster/sample.ts';
import { warningsOf } from '../forecaster/service/explanation-details.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const historyDays = 42;
const mondayMs = Date.UTC(2026, 2, 2);

export interface LoadShape {
  readonly cadenceMs: number;
  /** `regression` has a temperature that drives the load, `series` none. */
  readonly path: 'series' | 'regression';
  readonly seed: number;
  /** Whole days that the origin lies after a Monday's midnight, and hours into the day. */
  readonly day: number;
  readonly hour: number;
}

export interface TroubledCase {
  readonly sample: Sample;
  readonly actual: Float64Array;
}

/** Mean of all loads, in kW: the step of a shift by an addend. */
export const meanLoad = 70;

export function quietCase({ cadenceMs, path, seed, day, hour }: LoadShape): TroubledCase {
  const perDay = dayMs / cadenceMs;
  const count = historyDays * perDay;
  const endMs = mondayMs + day * dayMs + hour * hourMs;
  const startMs = endMs - (count - 1) * cadenceMs;
  const stream = new SeededStream(seed);
  let weather = 0;
  let drift = 0;
  const temperature = new Float64Array(count + perDay);
  const load = new Float64Array(count + perDay);
  for (let cell = 0; cell < load.length; cell++) {
    const middleMs = startMs + (cell - 0.5) * cadenceMs;
    const clock = (middleMs % dayMs) / hourMs;
    const weekend = Math.floor(middleMs / dayMs + 3) % 7 >= 5;
    const persistence = 1 - 1 / (2 * perDay);
    weather = persistence * weather + 8 * Math.sqrt(1 - persistence ** 2) * (2 * stream.next() - 1);
    drift = 0.9 * drift + 2 * (2 * stream.next() - 1);
    temperature[cell] = 10 + 6 * Math.sin((2 * Math.PI * (clock - 9)) / 24) + weather;
    const peak = (at: number): number => Math.exp(-((clock - at) ** 2) / 4);
    const base = weekend ? 45 + 20 * peak(12) : 50 + 40 * peak(8) + 30 * peak(18.5);
    const heating = path === 'regression' ? 1.5 * Math.max(0, 18 - (temperature[cell] as number)) : 0;
    load[cell] = base + heating + drift;
  }
  const covariates = path === 'regression' ? [{ name: 'temperature', values: temperature }] : [];
  const sample: Sample = {
    startMs,
    cadenceMs,
    count,
    horizon: perDay,
    target: load.slice(0, count),
    covariates,
    timeZone: 'UTC',
  };
  return { sample, actual: load.slice(count) };
}

/** The level changes `hours` before the end of the history, and stays. */
export function shifted(own: TroubledCase, hours: number, change: (value: number) => number): TroubledCase {
  const { sample, actual } = own;
  const since = sample.count - Math.round((hours * hourMs) / sample.cadenceMs);
  const target = sample.target.map((value, cell) => (cell < since ? value : change(value)));
  return { sample: { ...sample, target }, actual: actual.map(change) };
}

/** The temperature of the steps for which `isLost` holds is not known. */
export function withoutTemperature(own: TroubledCase, isLost: (step: number) => boolean): TroubledCase {
  const { sample } = own;
  const covariates = sample.covariates.map(({ name, values }) => ({
    name,
    values: values.map((value, cell) => (cell >= sample.count && isLost(cell - sample.count) ? Number.NaN : value)),
  }));
  return { ...own, sample: { ...sample, covariates } };
}

/** The newest cell shows `value`. */
export function withGlitch(own: TroubledCase, value: number): TroubledCase {
  const target = own.sample.target.with(own.sample.count - 1, value);
  return { ...own, sample: { ...own.sample, target } };
}

export interface Verdict {
  /** Mean absolute error, in kW. */
  readonly error: number;
  /** Share of actuals inside the band from 0.1 to 0.9. */
  readonly coverage: number;
  readonly warnings: readonly string[];
}

/** Of several cases together; a warning counts when each of them has it. */
export function judgeForecasts(cases: readonly TroubledCase[]): Verdict {
  let [error, inside, steps] = [0, 0, 0];
  let warnings: readonly string[] | null = null;
  for (const { sample, actual } of cases) {
    const { value, quantiles, explanation } = forecastSample(sample, {
      minimum: undefined,
      probabilities: Float64Array.of(0.1, 0.9),
    });
    for (const [step, truth] of actual.entries()) {
      error += Math.abs(truth - (value[step] ?? Number.NaN));
      const [low, high] = quantiles.map((own) => own[step] ?? Number.NaN);
      if (truth >= (low ?? Number.NaN) && truth <= (high ?? Number.NaN)) inside++;
      steps++;
    }
    const own = warningsOf(explanation);
    warnings = warnings === null ? own : warnings.filter((code) => own.includes(code));
  }
  return { error: error / steps, coverage: inside / steps, warnings: warnings ?? [] };
}
