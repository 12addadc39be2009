/**
 * Direct multi-step forecast: one small ridge regression per step of the horizon, on features known at the origin: the same hour of
 * past days and weeks, the newest hours less theirs, and levels. Only origins near the forecast's time of day are used.
 */
import { solveSymmetric } from '../linear-solve.ts';

const columns = 15;
const penalty = 0.02;
/** Cells to each side of the origin's time of day whose origins are training samples, and their weights. */
const nearWeights = [1, 0.5, 0.25, 0.25];
/** Prior coefficients of the day before and the week before, towards which ridge shrinks. */
const anchorDay = { column: 1, share: 0.7 };
const anchorWeek = { column: 4, share: 0.3 };

/** Null when the history is shorter than four weeks, or the horizon is longer than two days. */
export function direct(history: Float64Array, horizon: number, day: number): Float64Array | null {
  const count = history.length;
  if (count < 28 * day || horizon > 2 * day) return null;
  let middle = 0;
  for (const value of history) middle += value / count;
  let squares = 0;
  for (const value of history) squares += (value - middle) ** 2;
  const spread = Math.sqrt(squares / count) || 1;
  const unit = history.map((value) => (value - middle) / spread);
  const sums = new Float64Array(count + 1);
  for (let cell = 0; cell < count; cell++) sums[cell + 1] = (sums[cell] as number) + (unit[cell] as number);
  const matrix = new Float64Array(columns * columns);
  const vector = new Float64Array(columns);
  const row = new Float64Array(columns);
  return Float64Array.from({ length: horizon }, (_, index) => {
    const step = index + 1;
    gather({ unit, sums, day }, step, matrix, vector, row);
    if (!solveSymmetric(matrix, vector, columns)) return history[count - 2 * day + (index % day)] ?? middle;
    fillRow({ unit, sums, day }, count - 1, step, row);
    let sum = 0;
    for (let i = 0; i < columns; i++) sum += (row[i] as number) * (vector[i] as number);
    return sum * spread + middle;
  });
}

interface Series {
  readonly unit: Float64Array;
  readonly sums: Float64Array;
  readonly day: number;
}

function gather(series: Series, step: number, matrix: Float64Array, vector: Float64Array, row: Float64Array): void {
  const { unit, day } = series;
  matrix.fill(0);
  vector.fill(0);
  const newest = unit.length - 1;
  let total = 0;
  for (let origin = 14 * day; origin + step < unit.length; origin++) {
    const away = (newest - origin) % day;
    const own = nearWeights[Math.min(away, day - away)];
    if (own === undefined) continue;
    fillRow(series, origin, step, row);
    total += own;
    const target = unit[origin + step] as number;
    for (let i = 0; i < columns; i++) {
      const scaled = own * (row[i] as number);
      vector[i] = (vector[i] as number) + scaled * target;
      const at = i * columns;
      for (let j = 0; j <= i; j++) matrix[at + j] = (matrix[at + j] as number) + scaled * (row[j] as number);
    }
  }
  const pull = penalty * total;
  for (let i = 0; i < columns; i++) matrix[i * columns + i] = (matrix[i * columns + i] as number) + pull;
  for (const { column, share } of [anchorDay, anchorWeek]) vector[column] = (vector[column] as number) + pull * share;
}

function fillRow({ unit, sums, day }: Series, origin: number, step: number, row: Float64Array): void {
  const week = 7 * day;
  const at = origin + step;
  const nearest = step <= day ? day : 2 * day;
  const value = (cell: number): number => unit[cell] as number;
  const mean = (end: number): number => ((sums[end + 1] as number) - (sums[end + 1 - day] as number)) / day;
  row[0] = 1;
  row[1] = value(at - nearest);
  row[2] = value(at - nearest - day);
  row[3] = value(at - nearest - 2 * day);
  row[4] = value(at - week);
  row[5] = value(at - 2 * week);
  row[6] = (value(at - 3 * day) + value(at - 4 * day) + value(at - 5 * day) + value(at - 6 * day)) / 4;
  row[7] = value(origin) - value(origin - day);
  row[8] = value(origin) - value(origin - week);
  row[9] = value(origin - 1) - value(origin - 1 - day);
  row[10] = value(origin - 1) - value(origin - 1 - week);
  row[11] = mean(origin);
  row[12] = mean(origin - day);
  row[13] = mean(origin - week);
  const third = at - 3 * week;
  row[14] = (value(at - week) + value(at - 2 * week) + value(third >= 0 ? third : at - week)) / 3;
}
