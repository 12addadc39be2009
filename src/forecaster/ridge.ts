/**
 * Ridge regression whose coefficients may vary with the time of day: rows are gathered into slots of the day, each
 * centre of the day is fitted on its neighbouring slots, and each coefficient is shrunk towards that of the whole day.
 * Out-of-fold predictions come from the same normal matrices less one fold.
 */
import type { Columns, FittedModel, TrainingPlan } from './learning.ts';
import { solveSymmetric } from './linear-solve.ts';

export interface RidgeShape {
  /** Slots of the day; 1 is one model for all hours. */
  readonly slots: number;
  /** Slots on each side of a centre whose rows count, with falling weight. */
  readonly reach: number;
  /** Penalties to choose from, per unit of total weight, on standardised columns. */
  readonly penalties: readonly number[];
}

interface Moments {
  readonly size: number;
  /** Per fold and slot: lower triangle of X'WX, then X'Wy and the weight. */
  readonly matrix: Float64Array[][];
  readonly vector: Float64Array[][];
  readonly weight: Float64Array;
}

export interface Standard {
  readonly mean: Float64Array;
  readonly scale: Float64Array;
}

export function standardOf(columns: Columns, rows: Int32Array, weight: Float64Array): Standard {
  const mean = new Float64Array(columns.length);
  const scale = new Float64Array(columns.length);
  for (let column = 0; column < columns.length; column++) {
    const values = columns[column] as Float64Array;
    let sum = 0;
    let total = 0;
    for (const row of rows) {
      const value = values[row] as number;
      if (value !== value) continue;
      sum += (weight[row] as number) * value;
      total += weight[row] as number;
    }
    const middle = total > 0 ? sum / total : 0;
    let squares = 0;
    for (const row of rows) {
      const value = values[row] as number;
      if (value === value) squares += (weight[row] as number) * (value - middle) ** 2;
    }
    const spread = total > 0 ? Math.sqrt(squares / total) : 0;
    mean[column] = middle;
    // A column that does not vary carries nothing: scale 0 switches it off.
    scale[column] = spread > 1e-9 * (1 + Math.abs(middle)) ? 1 / spread : 0;
  }
  return { mean, scale };
}

/** A standardised cell; a missing one counts as average. Values far outside are drawn in. */
function unitOf(value: number, mean: number, scale: number): number {
  const unit = value === value ? (value - mean) * scale : 0;
  return unit > 6 ? 6 : unit < -6 ? -6 : unit;
}

/** Standardised row with a leading one. */
function fillRow(vector: Float64Array, columns: Columns, { mean, scale }: Standard, row: number): void {
  vector[0] = 1;
  for (let column = 0; column < columns.length; column++) {
    const value = (columns[column] as Float64Array)[row] as number;
    vector[column + 1] = unitOf(value, mean[column] as number, scale[column] as number);
  }
}

function momentsOf(
  columns: Columns,
  plan: TrainingPlan,
  standard: Standard,
  slots: Uint8Array,
  slotCount: number,
): Moments {
  const size = columns.length + 1;
  const matrix = Array.from({ length: plan.foldCount }, () =>
    Array.from({ length: slotCount }, () => new Float64Array(size * size)),
  );
  const vector = Array.from({ length: plan.foldCount }, () =>
    Array.from({ length: slotCount }, () => new Float64Array(size)),
  );
  const weight = new Float64Array(plan.foldCount * slotCount);
  const x = new Float64Array(size);
  for (const row of plan.rows) {
    const fold = plan.fold[row] as number;
    const slot = slots[row] as number;
    const own = plan.weight[row] as number;
    const target = plan.target[row] as number;
    fillRow(x, columns, standard, row);
    const into = (matrix[fold] as Float64Array[])[slot] as Float64Array;
    const right = (vector[fold] as Float64Array[])[slot] as Float64Array;
    weight[fold * slotCount + slot] = (weight[fold * slotCount + slot] as number) + own;
    for (let i = 0; i < size; i++) {
      const scaled = own * (x[i] as number);
      if (scaled === 0) continue;
      right[i] = (right[i] as number) + scaled * target;
      const at = i * size;
      for (let j = 0; j <= i; j++) into[at + j] = (into[at + j] as number) + scaled * (x[j] as number);
    }
  }
  return { size, matrix, vector, weight };
}

/** One slot's moments over all folds but one: the normal equations of the out-of-fold fit. */
interface SlotMoments {
  readonly matrix: Float64Array;
  readonly vector: Float64Array;
  weight: number;
}

/** Adds `share` of `from` to `into`; only the lower triangle is kept. */
function addMoments(into: SlotMoments, from: SlotMoments, share: number): void {
  const size = into.vector.length;
  into.weight += share * from.weight;
  for (let i = 0; i < size; i++) {
    const at = i * size;
    into.vector[i] = (into.vector[i] as number) + share * (from.vector[i] as number);
    for (let index = at; index <= at + i; index++)
      into.matrix[index] = (into.matrix[index] as number) + share * (from.matrix[index] as number);
  }
}

function emptyMoments(size: number): SlotMoments {
  return { matrix: new Float64Array(size * size), vector: new Float64Array(size), weight: 0 };
}

/** Per slot, the sum over all folds but `without` (−1: over all). */
function slotsWithout(moments: Moments, slots: number, without: number): SlotMoments[] {
  return Array.from({ length: slots }, (_, slot) => {
    const sum = emptyMoments(moments.size);
    for (let fold = 0; fold < moments.matrix.length; fold++) {
      const weight = moments.weight[fold * slots + slot] as number;
      if (fold === without || weight === 0) continue;
      const matrix = (moments.matrix[fold] as Float64Array[])[slot] as Float64Array;
      const vector = (moments.vector[fold] as Float64Array[])[slot] as Float64Array;
      addMoments(sum, { matrix, vector, weight }, 1);
    }
    return sum;
  });
}

/** Coefficients of one system, shrunk towards `anchor` (or zero); the intercept is hardly penalised. */
function solve(own: SlotMoments, penalty: number, anchor: Float64Array | undefined): Float64Array {
  const size = own.vector.length;
  const matrix = own.matrix.slice();
  const vector = own.vector.slice();
  for (let index = 0; index < size; index++) {
    const pull = (index === 0 ? 1e-3 : 1) * penalty * own.weight + 1e-9;
    matrix[index * size + index] = (matrix[index * size + index] as number) + pull;
    if (anchor !== undefined) vector[index] = (vector[index] as number) + pull * (anchor[index] as number);
  }
  if (!solveSymmetric(matrix, vector, size)) return anchor?.slice() ?? new Float64Array(size);
  return vector;
}

/** Penalty of the whole-day coefficients, towards which those of each hour are shrunk. */
const wholePenalty = 1e-3;

/** Coefficients per penalty and slot of the day, fitted without the rows of fold `without` (−1: with all). */
function coefficients(moments: Moments, shape: RidgeShape, without: number): Float64Array[][] {
  const { slots, reach, penalties } = shape;
  const own = slotsWithout(moments, slots, without);
  const sum = emptyMoments(moments.size);
  for (const slot of own) addMoments(sum, slot, 1);
  if (slots === 1) return penalties.map((penalty) => [solve(sum, penalty, undefined)]);
  const whole = solve(sum, wholePenalty, undefined);
  const found: Float64Array[][] = penalties.map(() => []);
  for (let centre = 0; centre < slots; centre++) {
    const near = emptyMoments(moments.size);
    for (let away = -reach; away <= reach; away++) {
      const slot = own[(((centre + away) % slots) + slots) % slots];
      if (slot !== undefined) addMoments(near, slot, 1 - Math.abs(away) / (reach + 1));
    }
    for (const [index, penalty] of penalties.entries()) found[index]?.push(solve(near, penalty, whole));
  }
  return found;
}

function slotsOf(hours: Float64Array, slotCount: number): Uint8Array {
  const slots = new Uint8Array(hours.length);
  for (let row = 0; row < slots.length; row++)
    slots[row] = Math.min(slotCount - 1, Math.floor(((hours[row] as number) * slotCount) / 24));
  return slots;
}

/** The product of each row with the coefficients of its slot, column by column. */
function productsOf(
  columns: Columns,
  standard: Standard,
  betas: readonly Float64Array[],
  slots: Uint8Array,
): Float64Array {
  const products = new Float64Array(slots.length);
  for (let row = 0; row < products.length; row++) products[row] = betas[slots[row] as number]?.[0] as number;
  for (let column = 0; column < columns.length; column++) {
    const values = columns[column] as Float64Array;
    const mean = standard.mean[column] as number;
    const scale = standard.scale[column] as number;
    const shares = Float64Array.from(betas, (beta) => beta[column + 1] as number);
    for (let row = 0; row < products.length; row++)
      products[row] =
        (products[row] as number) +
        unitOf(values[row] as number, mean, scale) * (shares[slots[row] as number] as number);
  }
  return products;
}

function product(x: Float64Array, beta: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < x.length; index++) sum += (x[index] as number) * (beta[index] as number);
  return sum;
}

/** Fits each shape's penalties on the same moments and keeps the one with the smallest out-of-fold absolute error. */
export function fitRidge(columns: Columns, hours: Float64Array, plan: TrainingPlan, shape: RidgeShape): FittedModel {
  const standard = standardOf(columns, plan.rows, plan.weight);
  const slots = slotsOf(hours, shape.slots);
  const moments = momentsOf(columns, plan, standard, slots, shape.slots);
  const x = new Float64Array(moments.size);
  const outOfFold = shape.penalties.map(() => new Float64Array(plan.target.length).fill(Number.NaN));
  // Without a single fold there are no rows left to fit.
  for (let fold = 0; fold < plan.foldCount && plan.foldCount > 1; fold++) {
    const unseen = plan.rows.filter((row) => plan.fold[row] === fold);
    const found = coefficients(moments, shape, fold);
    for (const row of unseen) {
      fillRow(x, columns, standard, row);
      for (let index = 0; index < found.length; index++) {
        const beta = (found[index] as Float64Array[])[slots[row] as number] as Float64Array;
        (outOfFold[index] as Float64Array)[row] = product(x, beta);
      }
    }
  }
  const best = shape.penalties.length === 1 ? 0 : leastError(outOfFold, plan);
  const whole = coefficients(moments, { ...shape, penalties: [shape.penalties[best] as number] }, -1)[0] ?? [];
  return {
    outOfFold: outOfFold[best] as Float64Array,
    predict: (later, laterHours) => productsOf(later, standard, whole, slotsOf(laterHours, shape.slots)),
  };
}

/** The candidate with the smallest weighted absolute error. */
function leastError(predictions: readonly Float64Array[], plan: TrainingPlan): number {
  const errors = predictions.map((own) => {
    let error = 0;
    for (const row of plan.rows)
      error += (plan.weight[row] as number) * Math.abs((own[row] as number) - (plan.target[row] as number));
    return error;
  });
  return errors.indexOf(Math.min(...errors));
}
