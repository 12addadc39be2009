/** The measures of the forecasting protocols: MASE, scaled pinball, coverage, nMAE, and the M4 competition's OWA. */
import type { ScoreCase } from './score-data.ts';

/** One forecast for the measures: a value and one row of quantiles per step. */
export interface ScoredForecast {
  readonly value: Float64Array;
  /** One array per probability, one element per step; the order is that of the case's probabilities. */
  readonly quantiles: readonly Float64Array[];
}

export interface CaseScore {
  readonly mase: number;
  readonly scaledPinball: number;
  /** Averaged over probabilities and steps, in units of the target. */
  readonly pinball: number;
  readonly smape: number;
  readonly absoluteError: number;
  readonly absoluteActual: number;
  readonly inside: number;
  readonly counted: number;
}

/** Mean absolute difference at a lag, over pairs of known values. */
function seasonalScale(history: Float64Array, lag: number): number {
  let sum = 0;
  let pairs = 0;
  for (let cell = lag; cell < history.length; cell++) {
    const difference = Math.abs((history[cell] ?? Number.NaN) - (history[cell - lag] ?? Number.NaN));
    if (Number.isNaN(difference)) continue;
    sum += difference;
    pairs++;
  }
  return pairs === 0 ? Number.NaN : sum / pairs;
}

/** `countedAbove`: steps whose actual is not above it do not count for coverage (PV by day). */
export function scoreCase(own: ScoreCase, forecast: ScoredForecast, countedAbove: number): CaseScore {
  const { actual, quantiles: probabilities, sample } = own;
  const scale = seasonalScale(sample.target, Math.round(86_400_000 / sample.cadenceMs));
  const sums = { error: 0, actual: 0, smape: 0, pinball: 0, steps: 0, inside: 0, counted: 0 };
  const low = forecast.quantiles[probabilities.indexOf(0.1)];
  const high = forecast.quantiles[probabilities.indexOf(0.9)];
  for (let step = 0; step < actual.length; step++) {
    const truth = actual[step] ?? Number.NaN;
    if (Number.isNaN(truth)) continue;
    const value = forecast.value[step] ?? Number.NaN;
    sums.steps++;
    sums.error += Math.abs(truth - value);
    sums.actual += Math.abs(truth);
    const size = Math.abs(truth) + Math.abs(value);
    sums.smape += size === 0 ? 0 : (200 * Math.abs(truth - value)) / size;
    sums.pinball += pinballOf(forecast.quantiles, probabilities, step, truth);
    if (low === undefined || high === undefined || truth <= countedAbove) continue;
    sums.counted++;
    if (truth >= (low[step] ?? 0) && truth <= (high[step] ?? 0)) sums.inside++;
  }
  const pinball = sums.pinball / sums.steps;
  return {
    mase: sums.error / sums.steps / scale,
    scaledPinball: pinball / scale,
    pinball,
    smape: sums.smape / sums.steps,
    absoluteError: sums.error,
    absoluteActual: sums.actual,
    inside: sums.inside,
    counted: sums.counted,
  };
}

function pinballOf(
  quantiles: readonly Float64Array[],
  probabilities: readonly number[],
  step: number,
  truth: number,
): number {
  let sum = 0;
  for (const [index, probability] of probabilities.entries()) {
    const miss = truth - (quantiles[index]?.[step] ?? Number.NaN);
    sum += miss >= 0 ? probability * miss : (probability - 1) * miss;
  }
  return sum / probabilities.length;
}

export interface SetScore {
  readonly mase: number;
  readonly scaledPinball: number;
  readonly pinball: number;
  readonly smape: number;
  readonly nmae: number;
  readonly coverage: number;
}

/** Averages over cases; nMAE and coverage are ratios of sums. */
export function averageScore(scores: readonly CaseScore[]): SetScore {
  const sum = (part: (score: CaseScore) => number): number => scores.reduce((total, score) => total + part(score), 0);
  const mean = (part: (score: CaseScore) => number): number => sum(part) / scores.length;
  return {
    mase: mean((score) => score.mase),
    scaledPinball: mean((score) => score.scaledPinball),
    pinball: mean((score) => score.pinball),
    smape: mean((score) => score.smape),
    nmae: sum((score) => score.absoluteError) / sum((score) => score.absoluteActual),
    coverage: sum((score) => score.inside) / sum((score) => score.counted),
  };
}

/** Naive2 of the competition: the last value, after classical multiplicative seasonal adjustment when a season is found. */
export function naiveTwo(history: Float64Array, horizon: number, season: number): Float64Array {
  const factors = hasSeason(history, season) ? seasonalFactors(history, season) : new Float64Array(season).fill(1);
  const last = (history.at(-1) ?? 0) / (factors[(history.length - 1) % season] ?? 1);
  return Float64Array.from({ length: horizon }, (_, step) => last * (factors[(history.length + step) % season] ?? 1));
}

/** The competition's 90% test of the autocorrelation at one season. */
function hasSeason(history: Float64Array, season: number): boolean {
  if (history.length < 3 * season) return false;
  const mean = history.reduce((sum, value) => sum + value, 0) / history.length;
  let squares = 0;
  for (const value of history) squares += (value - mean) ** 2;
  const correlation = (lag: number): number => {
    let sum = 0;
    for (let cell = lag; cell < history.length; cell++)
      sum += ((history[cell] ?? 0) - mean) * ((history[cell - lag] ?? 0) - mean);
    return sum / squares;
  };
  let earlier = 0;
  for (let lag = 1; lag < season; lag++) earlier += correlation(lag) ** 2;
  return Math.abs(correlation(season)) > 1.645 * Math.sqrt((1 + 2 * earlier) / history.length);
}

function seasonalFactors(history: Float64Array, season: number): Float64Array {
  const sums = new Float64Array(season);
  const counts = new Float64Array(season);
  const half = season / 2;
  for (let cell = half; cell + half < history.length; cell++) {
    let window = ((history[cell - half] ?? 0) + (history[cell + half] ?? 0)) / 2;
    for (let other = cell - half + 1; other < cell + half; other++) window += history[other] ?? 0;
    const ratio = (history[cell] ?? 0) / (window / season);
    sums[cell % season] = (sums[cell % season] ?? 0) + ratio;
    counts[cell % season] = (counts[cell % season] ?? 0) + 1;
  }
  const factors = sums.map((sum, index) => sum / (counts[index] ?? 1));
  const mean = factors.reduce((sum, value) => sum + value, 0) / season;
  return factors.map((factor) => factor / mean);
}
