/**
 * Exponential smoothing with a daily and, when asked, a weekly season, a damped trend and a first-order correction of
 * the residuals (Taylor 2003). Its smoothing parameters minimise the squared one-step residuals.
 */
import { searchMinimum } from './simplex-search.ts';

export interface SmoothingShape {
  readonly day: number;
  /** 0: no weekly season. */
  readonly week: number;
  readonly trend: boolean;
}

interface Rates {
  readonly level: number;
  readonly slope: number;
  readonly day: number;
  readonly week: number;
  readonly carried: number;
}

interface State {
  level: number;
  slope: number;
  miss: number;
  readonly day: Float64Array;
  readonly week: Float64Array;
}

const damping = 0.98;
const evaluationsMax = 80;
const start = [0.1, 0.15, 0.1, 0.7, 0.005];
const stride = [0.1, 0.1, 0.1, 0.2, 0.01];
const least = [0, 0, 0, 0, 0];
const most = [0.99, 0.9, 0.9, 0.99, 0.1];

/** Null when the history is shorter than two of the longest season. */
export function smooth(history: Float64Array, horizon: number, shape: SmoothingShape): Float64Array | null {
  if (history.length < 2 * Math.max(shape.day, shape.week)) return null;
  const initial = initialState(history, shape);
  const point = searchMinimum(
    (own) => run(history, shape, initial, ratesOf(own, shape)).loss,
    { start, stride, least, most },
    evaluationsMax,
  );
  const rates = ratesOf(point, shape);
  const { state } = run(history, shape, initial, rates);
  const forecast = new Float64Array(horizon);
  let climbed = 0;
  let damp = 1;
  let carried = state.miss;
  for (let step = 0; step < horizon; step++) {
    const at = history.length + step;
    damp *= damping;
    climbed += damp * state.slope;
    carried *= rates.carried;
    const week = shape.week > 0 ? (state.week[at % shape.week] as number) : 0;
    forecast[step] = state.level + climbed + (state.day[at % shape.day] as number) + week + carried;
  }
  return forecast;
}

function ratesOf(point: readonly number[], shape: SmoothingShape): Rates {
  const [level = 0, day = 0, week = 0, carried = 0, slope = 0] = point;
  return { level, day, week, carried, slope: shape.trend ? slope : 0 };
}

function initialState(history: Float64Array, { day, week }: SmoothingShape): State {
  const used = Math.min(history.length, 2 * Math.max(day, week));
  let level = 0;
  for (let cell = 0; cell < used; cell++) level += (history[cell] as number) / used;
  const ofDay = meansBy(day, used, (cell) => (history[cell] as number) - level);
  const ofWeek =
    week > 0
      ? meansBy(week, used, (cell) => (history[cell] as number) - level - (ofDay[cell % day] as number))
      : new Float64Array(0);
  return { level, slope: 0, miss: 0, day: ofDay, week: ofWeek };
}

function meansBy(period: number, used: number, value: (cell: number) => number): Float64Array {
  const sums = new Float64Array(period);
  const counts = new Float64Array(period);
  for (let cell = 0; cell < used; cell++) {
    sums[cell % period] = (sums[cell % period] as number) + value(cell);
    counts[cell % period] = (counts[cell % period] as number) + 1;
  }
  return sums.map((sum, index) => sum / (counts[index] as number));
}

/** Runs the recursion over the history; the loss starts after three days, when the state has settled. */
function run(
  history: Float64Array,
  { day, week }: SmoothingShape,
  initial: State,
  rates: Rates,
): { loss: number; state: State } {
  const state: State = { ...initial, day: initial.day.slice(), week: initial.week.slice() };
  const settled = 3 * day;
  let loss = 0;
  for (let cell = 0; cell < history.length; cell++) {
    const ofDay = cell % day;
    const ofWeek = week > 0 ? cell % week : 0;
    const season = (state.day[ofDay] as number) + (week > 0 ? (state.week[ofWeek] as number) : 0);
    const base = state.level + damping * state.slope + season;
    const value = history[cell] as number;
    const error = value - base - rates.carried * state.miss;
    if (cell >= settled) loss += error * error;
    const miss = value - base;
    state.level += damping * state.slope + rates.level * miss;
    state.slope = damping * state.slope + rates.slope * miss;
    state.day[ofDay] = (state.day[ofDay] as number) + rates.day * miss;
    if (week > 0) state.week[ofWeek] = (state.week[ofWeek] as number) + rates.week * miss;
    state.miss = miss;
  }
  return { loss, state };
}
