/**
 * Linear autoregression on chosen lags, fitted by ridge and, when asked, made robust by down-weighting large residuals. It
 * may work on seasonal differences; multi-step forecasts are recursive.
 */
import { solveSymmetric } from '../linear-solve.ts';

export interface AutoregressionShape {
  readonly lags: readonly number[];
  /** The series is differenced at this lag first; 0 leaves it unchanged. */
  readonly difference: number;
  /** Ridge penalty per row, on the standardised series. */
  readonly penalty: number;
  /** Rounds of reweighting; 1 is plain least squares. */
  readonly rounds: number;
}

/** Standardised values beyond this are clipped: a recursion must not diverge. */
const unitMax = 8;

/** Null when the history is shorter than the lags and as many rows again. */
export function autoregress(history: Float64Array, horizon: number, shape: AutoregressionShape): Float64Array | null {
  const { difference, lags } = shape;
  const count = history.length - difference;
  const lagMax = Math.max(...lags);
  if (count < lagMax + 2 * lags.length + 10) return null;
  const unit = new Float64Array(count + horizon);
  for (let cell = 0; cell < count; cell++)
    unit[cell] = (history[cell + difference] as number) - (difference > 0 ? (history[cell] as number) : 0);
  const { middle, spread } = standardise(unit, count, difference > 0);
  const beta = fit(unit, count, shape);
  for (let cell = count; cell < unit.length; cell++)
    unit[cell] = Math.max(-unitMax, Math.min(unitMax, predict(unit, cell, beta, lags)));
  const whole = new Float64Array(history.length + horizon);
  whole.set(history);
  for (let step = 0; step < horizon; step++) {
    const at = history.length + step;
    const own = (unit[count + step] as number) * spread + middle;
    whole[at] = difference > 0 ? own + (whole[at - difference] as number) : own;
  }
  return whole.slice(history.length);
}

function standardise(unit: Float64Array, count: number, differenced: boolean): { middle: number; spread: number } {
  let middle = 0;
  if (!differenced) {
    for (let cell = 0; cell < count; cell++) middle += unit[cell] as number;
    middle /= count;
  }
  let squares = 0;
  for (let cell = 0; cell < count; cell++) squares += ((unit[cell] as number) - middle) ** 2;
  const root = Math.sqrt(squares / count);
  const spread = root > 0 ? root : 1;
  for (let cell = 0; cell < count; cell++) unit[cell] = ((unit[cell] as number) - middle) / spread;
  return { middle, spread };
}

function predict(unit: Float64Array, cell: number, beta: Float64Array, lags: readonly number[]): number {
  let sum = beta[0] as number;
  for (let index = 0; index < lags.length; index++)
    sum += (beta[index + 1] as number) * (unit[cell - (lags[index] as number)] as number);
  return sum;
}

function fit(unit: Float64Array, count: number, shape: AutoregressionShape): Float64Array {
  const { lags, penalty, rounds } = shape;
  const first = Math.max(...lags);
  const weight = new Float64Array(count).fill(1);
  let beta: Float64Array = new Float64Array(lags.length + 1);
  for (let round = 0; round < rounds; round++) {
    beta = solveWeighted(unit, count, first, lags, weight, penalty);
    if (round + 1 === rounds) break;
    const misses = new Float64Array(count - first);
    for (let cell = first; cell < count; cell++)
      misses[cell - first] = Math.abs((unit[cell] as number) - predict(unit, cell, beta, lags));
    const typical = 1.2 * Math.max(1e-9, misses.toSorted()[misses.length >> 1] as number);
    for (let cell = first; cell < count; cell++)
      weight[cell] = 1 / Math.max(1, (misses[cell - first] as number) / typical);
  }
  return beta;
}

function solveWeighted(
  unit: Float64Array,
  count: number,
  first: number,
  lags: readonly number[],
  weight: Float64Array,
  penalty: number,
): Float64Array {
  const size = lags.length + 1;
  const matrix = new Float64Array(size * size);
  const vector = new Float64Array(size);
  const row = new Float64Array(size);
  row[0] = 1;
  let total = 0;
  for (let cell = first; cell < count; cell++) {
    const own = weight[cell] as number;
    total += own;
    for (let index = 1; index < size; index++) row[index] = unit[cell - (lags[index - 1] as number)] as number;
    const target = unit[cell] as number;
    for (let i = 0; i < size; i++) {
      const scaled = own * (row[i] as number);
      vector[i] = (vector[i] as number) + scaled * target;
      const at = i * size;
      for (let j = 0; j <= i; j++) matrix[at + j] = (matrix[at + j] as number) + scaled * (row[j] as number);
    }
  }
  for (let i = 0; i < size; i++) matrix[i * size + i] = (matrix[i * size + i] as number) + penalty * total + 1e-9;
  return solveSymmetric(matrix, vector, size) ? vector : new Float64Array(size);
}
