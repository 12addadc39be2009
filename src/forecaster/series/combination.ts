/**
 * The forecast of a single series: a rolling-origin backtest weights the models, and the weighted median of the models is the
 * forecast. The residuals of the combination at those origins, grouped by lead and scaled by the time of day, are its distribution.
 */
import { type Share, sharesOf } from '../explanation.ts';
import { interpolate, levels } from '../levels.ts';
import { type SeriesModel, seriesModels } from './models.ts';

export interface SeriesForecast {
  /** One distribution at the levels per step. */
  readonly rows: readonly Float64Array[];
  readonly models: readonly Share[];
}

const originsMax = 9;

interface Judged {
  readonly model: SeriesModel;
  readonly forecast: Float64Array;
  /** One forecast per origin, newest origin first. */
  readonly earlier: readonly Float64Array[];
  readonly error: number;
}

/** Null when the history is too short for a backtest. */
export function forecastSeries(history: Float64Array, horizon: number, day: number): SeriesForecast | null {
  const origins = originsOf(history.length, horizon, day);
  const truths = origins.map((end) => history.slice(end, end + horizon));
  const judged = seriesModels.flatMap((model) => judge(model, history, horizon, day, origins, truths) ?? []);
  if (judged.length === 0 || origins.length === 0) return null;
  const least = Math.max(1e-12, Math.min(...judged.map(({ error }) => error)));
  const weights = Float64Array.from(judged, ({ error }) => (least / Math.max(least, error)) ** 2);
  const value = weightedMedian(
    judged.map(({ forecast }) => forecast),
    weights,
  );
  const misses = origins.map((_, origin) => {
    const own = weightedMedian(
      judged.map(({ earlier }) => earlier[origin] ?? value),
      weights,
    );
    return own.map((each, step) => (truths[origin]?.[step] ?? each) - each);
  });
  return {
    rows: distributions(value, misses, day),
    models: sharesOf(
      judged.map(({ model }) => model.name),
      weights,
    ),
  };
}

/** Origins of the backtest: a day apart, with at least two weeks and two horizons before them. */
function originsOf(count: number, horizon: number, day: number): number[] {
  const least = Math.max(14 * day, 2 * horizon);
  return Array.from({ length: originsMax }, (_, back) => count - horizon - back * day).filter((end) => end >= least);
}

function judge(
  model: SeriesModel,
  history: Float64Array,
  horizon: number,
  day: number,
  origins: readonly number[],
  truths: readonly Float64Array[],
): Judged | null {
  const scaled = model.scale === 'raw' ? history : logarithms(history);
  if (scaled === null) return null;
  const from = (end: number): Float64Array | null => {
    const own = model.forecast(scaled.subarray(0, end), horizon, day);
    if (own === null) return null;
    const back = model.scale === 'raw' ? own : own.map(Math.exp);
    return back.every(Number.isFinite) ? back : null;
  };
  const forecast = from(history.length);
  if (forecast === null) return null;
  const earlier: Float64Array[] = [];
  let error = 0;
  for (const [index, end] of origins.entries()) {
    const own = from(end);
    const truth = truths[index];
    if (own === null || truth === undefined) return null;
    earlier.push(own);
    for (let step = 0; step < horizon; step++) error += Math.abs((own[step] as number) - (truth[step] as number));
  }
  return { model, forecast, earlier, error };
}

function logarithms(history: Float64Array): Float64Array | null {
  return history.every((value) => value > 0) ? history.map(Math.log) : null;
}

/** Per step, the weighted median: the value of the model at which half of the weight is reached. */
export function weightedMedian(forecasts: readonly Float64Array[], weights: Float64Array): Float64Array {
  const [first] = forecasts;
  if (first === undefined) throw new Error('nothing to combine');
  const total = weights.reduce((sum, value) => sum + value, 0);
  const order = Int32Array.from(forecasts, (_, index) => index);
  return first.map((_, step) => {
    const at = (index: number): number => (forecasts[index] as Float64Array)[step] as number;
    order.sort((a, b) => at(a) - at(b) || a - b);
    let below = 0;
    for (const index of order) {
      below += weights[index] as number;
      if (below >= total / 2) return at(index);
    }
    return at(order[order.length - 1] as number);
  });
}

/** Widening factor: a few overlapping windows understate the spread, as measured on windows before the scored ones. */
const widening = 1.2;

/** Steps on each side whose residuals are pooled with a step's, in parts of a day. */
const nearPart = 1 / 6;

function distributions(value: Float64Array, misses: readonly Float64Array[], day: number): Float64Array[] {
  const horizon = value.length;
  const reach = Math.max(1, Math.round(day * nearPart));
  const overall = meanSize(misses, 0, horizon - 1);
  const spread = value.map((_, step) => {
    const own = meanSize(misses, Math.max(0, step - reach), Math.min(horizon - 1, step + reach));
    return 0.8 * own + 0.2 * overall;
  });
  const relative: number[] = [];
  for (const own of misses)
    for (let step = 0; step < horizon; step++) {
      const size = spread[step] as number;
      relative.push(size > 0 ? (own[step] as number) / size : 0);
    }
  const sorted = Float64Array.from(relative).sort();
  const ranks = sorted.map((_, index) => (index + 0.5) / sorted.length);
  const unit = levels.map((level) => interpolate(ranks, sorted, level));
  // The median of the residuals is removed: a few days must not shift the combination.
  const middle = unit[levels.indexOf(0.5)] as number;
  return Array.from(value, (own, step) =>
    unit.map((miss) => own + widening * (miss - middle) * (spread[step] as number)),
  );
}

function meanSize(misses: readonly Float64Array[], from: number, to: number): number {
  let sum = 0;
  for (const own of misses) for (let step = from; step <= to; step++) sum += Math.abs(own[step] as number);
  return sum / (misses.length * (to - from + 1));
}
