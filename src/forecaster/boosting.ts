/** Gradient-boosted trees, once a fold and on all rows: the part of the target that the linear models leave. */

import { SeededStream } from '../base/seeded.ts';
import type { BinnedColumns } from './binning.ts';
import type { FittedModel, TrainingPlan } from './learning.ts';
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
  /** Of the first `count` rows of columns that are binned as those of the fit. */
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
  for (let round = 0; round < shape.rounds; round++) {
    stream.drawInPlace(columns, columnCount);
    stream.drawInPlace(order, rowCount);
    const bag = order.slice(0, rowCount).sort();
    const own = columns.slice(0, columnCount);
    const tree = growTree({ bins: binned.bins, target: residual, rows: bag, columns: own }, shape, stream);
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at] as number;
      residual[row] = (residual[row] as number) - shape.rate * (tree.value[leafOf(tree, binned.bins, row)] as number);
    }
    trees.push(tree);
  }
  return { trees, rate: shape.rate };
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
    const seen = plan.rows.filter((row) => plan.fold[row] !== fold);
    const model = boost(binned, plan, seen, base, shape, 11 + fold);
    folds.push(model);
    for (const row of plan.rows) if (plan.fold[row] === fold) outOfFold[row] = predictOne(model, binned.bins, row);
  }
  return {
    outOfFold,
    predict(bins, count) {
      const means = new Float64Array(count);
      // The mean of the folds' models: as good as one more fit on all rows, and it costs nothing.
      for (let row = 0; row < count; row++) {
        let sum = 0;
        for (const model of folds) sum += predictOne(model, bins, row);
        means[row] = sum / folds.length;
      }
      return means;
    },
  };
}
