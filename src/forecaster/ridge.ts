/**
 * Ridge regression whose coefficients may vary with the time of day: rows are gathered into slots of the day, each
 * centre of the day is fitted on its neighbouring slots, and each coefficient is shrunk towards that of the whole day.
 * Out-of-fold predictions come from the same normal equations less one fold.
 */
import { type Columns, type FittedModel, rowsWhere, type TrainingPlan } from './learning.ts';
import { solveSymmetric } from './linear-solve.ts';
import {
  addEquations,
  emptyEquations,
  type NormalEquations,
  type SlotEquations,
  slotsOf,
  standardised,
} from './normal-equations.ts';

export interface RidgeShape {
  /** Slots of the day with coefficients of their own: 1, or those of the equations. */
  readonly slots: number;
  /** Slots on each side of a centre whose rows count, with falling weight. */
  readonly reach: number;
  /** Penalties to choose from, per unit of total weight, on standardised columns. */
  readonly penalties: readonly number[];
}

/** Coefficients by slot of the day. */
type Betas = readonly Float64Array[];

/** By slot, the sum over all folds but `without` (−1: over all). */
function slotsWithout({ parts, units }: NormalEquations, without: number): SlotEquations[] {
  return (parts[0] ?? []).map((_, slot) => {
    const sum = emptyEquations(units.length + 1);
    for (const [fold, slots] of parts.entries()) {
      const own = slots[slot];
      if (fold !== without && own !== undefined && own.weight > 0) addEquations(sum, own, 1);
    }
    return sum;
  });
}

/** Coefficients of one system, shrunk towards `anchor` (or zero); the intercept is hardly penalised. */
function solve(own: SlotEquations, penalty: number, anchor: Float64Array | undefined): Float64Array {
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

/** Coefficients by penalty, fitted without the rows of fold `without` (−1: with all). */
function coefficients(equations: NormalEquations, shape: RidgeShape, without: number): Betas[] {
  const { slots, reach, penalties } = shape;
  const own = slotsWithout(equations, without);
  const sum = emptyEquations(equations.units.length + 1);
  for (const slot of own) addEquations(sum, slot, 1);
  if (slots === 1) return penalties.map((penalty) => [solve(sum, penalty, undefined)]);
  const whole = solve(sum, wholePenalty, undefined);
  const found: Float64Array[][] = penalties.map(() => []);
  for (let centre = 0; centre < slots; centre++) {
    const near = emptyEquations(equations.units.length + 1);
    for (let away = -reach; away <= reach; away++) {
      const slot = own[(((centre + away) % slots) + slots) % slots];
      if (slot !== undefined) addEquations(near, slot, 1 - Math.abs(away) / (reach + 1));
    }
    for (const [index, penalty] of penalties.entries()) found[index]?.push(solve(near, penalty, whole));
  }
  return found;
}

/** Fills `into` at `rows` with the product of each row and the coefficients of its slot, column by column. */
function fillProducts(into: Float64Array, rows: Int32Array, units: Columns, betas: Betas, slots: Uint8Array): void {
  for (const row of rows) into[row] = betas[slots[row] as number]?.[0] as number;
  for (let column = 0; column < units.length; column++) {
    const own = units[column] as Float64Array;
    const shares = Float64Array.from(betas, (beta) => beta[column + 1] as number);
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at] as number;
      into[row] = (into[row] as number) + (own[row] as number) * (shares[slots[row] as number] as number);
    }
  }
}

/** Fits each of the penalties on the same equations and keeps the one with the smallest out-of-fold absolute error. */
export function fitRidge(equations: NormalEquations, shape: RidgeShape): FittedModel {
  const { units, hours, plan, standard } = equations;
  const slots = slotsOf(hours, shape.slots);
  const outOfFold = shape.penalties.map(() => new Float64Array(plan.target.length).fill(Number.NaN));
  // Without a single fold there are no rows left to fit.
  for (let fold = 0; fold < plan.foldCount && plan.foldCount > 1; fold++) {
    const unseen = rowsWhere(plan.rows, (row) => plan.fold[row] === fold);
    for (const [index, betas] of coefficients(equations, shape, fold).entries())
      fillProducts(outOfFold[index] as Float64Array, unseen, units, betas, slots);
  }
  const best = shape.penalties.length === 1 ? 0 : leastError(outOfFold, plan);
  const whole = coefficients(equations, { ...shape, penalties: [shape.penalties[best] as number] }, -1)[0] ?? [];
  return {
    outOfFold: outOfFold[best] as Float64Array,
    predict(later, laterHours) {
      const products = new Float64Array(laterHours.length);
      const rows = Int32Array.from(products, (_, row) => row);
      fillProducts(products, rows, standardised(later, standard), whole, slotsOf(laterHours, shape.slots));
      return products;
    },
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
