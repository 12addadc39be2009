/** Gradient-boosted trees, fitted per fold: the part of the target that the linear models leave. */

import { SeededStream } from '../base/seeded.ts';
import type { BinnedColumns } from './binning.ts';
import { type FittedModel, rowsWhere, type TrainingPlan } from './learning.ts';
import { growTree, leafOf, type Tree, type TreeShape } from './trees.ts';

export interface BoostingShape extends TreeShape {
  readonly rounds: number;
  readonly rate: number;
  /** Share of the rows that a tree sees. */
  readonly rowShare: number;
  /** Share of the columns that a tree sees. */
  readonly columnShare: number;
}

export interface BoostedModel extends Pick<FittedModel, 'outOfFold'> {
  /** For the first `count` rows of columns that are binned like those of the fit. */
  predict(bins: readonly Uint8Array[], count: number): Float64Array;
}

interface Boosted {
  readonly trees: readonly Tree[];
  readonly rate: number;
}

function boost(
  binned: BinnedColumns,
  plan: TrainingPlan,
  rows: Int32Array,
  base: Float64Array,
  shape: BoostingShape,
  seed: number,
): Boosted {
  const stream = new SeededStream(seed);
  const residual = new Float64Array(plan.target.length);
  for (const row of rows) residual[row] = (plan.target[row] as number) - (base[row] as number);
  const columns = Int32Array.from(binned.bins, (_, index) => index);
  const columnCount = Math.max(1, Math.round(columns.length * shape.columnShare));
  const order = rows.slice();
  const rowCount = Math.max(1, Math.round(rows.length * shape.rowShare));
  const trees: Tree[] = [];
  const inBag = new Uint8Array(residual.length);
  for (let round = 0; round < shape.rounds; round++) {
    stream.drawInPlace(columns, columnCount);
    stream.drawInPlace(order, rowCount);
    inBag.fill(0);
    for (let place = 0; place < rowCount; place++) inBag[order[place] as number] = 1;
    const bag = flagged(rows, inBag, rowCount);
    const own = columns.slice(0, columnCount);
    const tree = growTree({ bins: binned.bins, target: residual, rows: bag, columns: own }, shape, stream);
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at] as number;
      if (inBag[row] === 0) learn(residual, row, shape.rate, tree, leafOf(tree, binned.bins, row));
    }
    // Rows of the bag are already sorted into leaves.
    for (let leaf = 0; leaf < tree.column.length; leaf++) {
      if ((tree.column[leaf] as number) >= 0) continue;
      for (let at = tree.start[leaf] as number; at < (tree.end[leaf] as number); at++)
        learn(residual, tree.rows[at] as number, shape.rate, tree, leaf);
    }
    trees.push(tree);
  }
  return { trees, rate: shape.rate };
}

/** The `count` rows whose flag is 1. */
function flagged(rows: Int32Array, flags: Uint8Array, count: number): Int32Array {
  // One element more than needed: every row is written, and the next one overwrites it unless its flag is 1.
  const found = new Int32Array(count + 1);
  let next = 0;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] as number;
    found[next] = row;
    next += flags[row] as number;
  }
  return found.subarray(0, count);
}

/** Subtracts what the leaf explains from the residual of a row in it. */
function learn(residual: Float64Array, row: number, rate: number, { value }: Tree, leaf: number): void {
  residual[row] = (residual[row] as number) - rate * (value[leaf] as number);
}

function predictOne(model: Boosted, bins: readonly Uint8Array[], row: number): number {
  let sum = 0;
  for (const tree of model.trees) sum += tree.value[leafOf(tree, bins, row)] as number;
  return model.rate * sum;
}

/** Fits the residuals of `base`; the predictions are added to the base. */
export function fitBoosting(
  binned: BinnedColumns,
  plan: TrainingPlan,
  base: Float64Array,
  shape: BoostingShape,
): BoostedModel {
  const outOfFold = new Float64Array(plan.target.length).fill(Number.NaN);
  const folds: Boosted[] = [];
  for (let fold = 0; fold < plan.foldCount; fold++) {
    const seen = rowsWhere(plan.rows, (row) => plan.fold[row] !== fold);
    const model = boost(binned, plan, seen, base, shape, 11 + fold);
    folds.push(model);
    for (const row of plan.rows) if (plan.fold[row] === fold) outOfFold[row] = predictOne(model, binned.bins, row);
  }
  return {
    outOfFold,
    predict(bins, count) {
      const means = new Float64Array(count);
      // The mean of the folds' models: as good as another fit on all rows, at no cost.
      for (let row = 0; row < count; row++) {
        let sum = 0;
        for (const model of folds) sum += predictOne(model, bins, row);
        means[row] = sum / folds.length;
      }
      return means;
    },
  };
}
