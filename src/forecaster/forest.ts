/**
 * A quantile regression forest: leaves keep their rows, and a forecast is the weighted distribution of the goals that
 * fell into the same leaves (Meinshausen 2006). Bags are runs of whole days, so the rows of a day that a tree has not
 * seen are judged by trees that know nothing of that day.
 */
import { type BinnedColumns, binColumn } from './binning.ts';
import type { Columns, TrainingPlan } from './learning.ts';
import { SeededStream } from './seeded.ts';
import { growTree, leafOf, type Tree, type TreeShape } from './trees.ts';

export interface ForestShape extends TreeShape {
  readonly trees: number;
  /** Share of the day blocks that a tree sees. */
  readonly bagShare: number;
}

export interface Forest {
  readonly binned: BinnedColumns;
  readonly trees: readonly Tree[];
  /** Per tree and day block: 1 when the tree has seen it. */
  readonly seen: readonly Uint8Array[];
  /** Rows of the plan in ascending order of goal. */
  readonly ranked: Int32Array;
  readonly plan: TrainingPlan;
  /** Day block of each row. */
  readonly block: Int32Array;
}

export function growForest(binned: BinnedColumns, plan: TrainingPlan, block: Int32Array, shape: ForestShape): Forest {
  const stream = new SeededStream(7);
  const present = Int32Array.from(new Set(Array.from(plan.rows, (row) => block[row] as number)));
  const blocksMax = present.reduce((most, own) => Math.max(most, own), 0) + 1;
  const bagged = Math.max(1, Math.round(present.length * shape.bagShare));
  const trees: Tree[] = [];
  const seen: Uint8Array[] = [];
  for (let index = 0; index < shape.trees; index++) {
    stream.drawInPlace(present, bagged);
    const own = new Uint8Array(blocksMax);
    for (let place = 0; place < bagged; place++) own[present[place] as number] = 1;
    const rows = plan.rows.filter((row) => own[block[row] as number] === 1);
    const columns = Int32Array.from(binned.bins, (_, column) => column);
    const { bins, binCounts } = binned;
    trees.push(growTree({ bins, binCounts, goal: plan.goal, weight: plan.weight, rows, columns }, shape, stream));
    seen.push(own);
  }
  const ranked = plan.rows.slice().sort((a, b) => (plan.goal[a] as number) - (plan.goal[b] as number) || a - b);
  return { binned, trees, seen, ranked, plan, block };
}

/** Adds the leaf members of `row` to `weights`; `onlyUnseen` asks only trees that have not seen that day block. */
function addLeaves(forest: Forest, bins: readonly Uint8Array[], row: number, weights: Float64Array, onlyUnseen: number): void {
  const { plan } = forest;
  for (let index = 0; index < forest.trees.length; index++) {
    if (onlyUnseen >= 0 && (forest.seen[index] as Uint8Array)[onlyUnseen] === 1) continue;
    const tree = forest.trees[index] as Tree;
    const leaf = leafOf(tree, bins, row);
    const from = tree.start[leaf] as number;
    const to = tree.end[leaf] as number;
    let total = 0;
    for (let at = from; at < to; at++) total += plan.weight[tree.rows[at] as number] as number;
    for (let at = from; at < to; at++) {
      const member = tree.rows[at] as number;
      weights[member] = (weights[member] as number) + (plan.weight[member] as number) / total;
    }
  }
}

/** Quantiles of the goals under `weights`, into `into`; probabilities ascend. Interpolates between weighted ranks. */
function weightedQuantiles(forest: Forest, weights: Float64Array, probabilities: Float64Array, into: Float64Array): void {
  const { ranked, plan } = forest;
  let total = 0;
  for (const row of ranked) total += weights[row] as number;
  if (!(total > 0)) {
    into.fill(Number.NaN);
    return;
  }
  let next = 0;
  let below = 0;
  let previousMiddle = 0;
  let previousGoal = Number.NaN;
  for (const row of ranked) {
    const own = weights[row] as number;
    if (own === 0) continue;
    const middle = (below + own / 2) / total;
    const goal = plan.goal[row] as number;
    while (next < probabilities.length && (probabilities[next] as number) <= middle) {
      if (previousGoal !== previousGoal) into[next] = goal;
      else {
        const part = ((probabilities[next] as number) - previousMiddle) / (middle - previousMiddle);
        into[next] = previousGoal + (goal - previousGoal) * part;
      }
      next++;
    }
    if (next >= probabilities.length) return;
    below += own;
    previousMiddle = middle;
    previousGoal = goal;
  }
  while (next < probabilities.length) into[next++] = previousGoal;
}

/** Quantiles of each row of `columns`: one array of `probabilities.length` values a row. */
export function forestQuantiles(forest: Forest, columns: Columns, count: number, probabilities: Float64Array): Float64Array[] {
  const bins = columns.map((column, index) => binColumn(column, forest.binned.cuts[index] as Float64Array, count));
  const weights = new Float64Array(forest.plan.goal.length);
  return Array.from({ length: count }, (_, row) => {
    weights.fill(0);
    addLeaves(forest, bins, row, weights, -1);
    const own = new Float64Array(probabilities.length);
    weightedQuantiles(forest, weights, probabilities, own);
    return own;
  });
}

/** The same for training rows, asking only trees that have not seen the row's days; every row of `rows`. */
export function forestOutOfBag(forest: Forest, rows: Int32Array, probabilities: Float64Array): Float64Array[] {
  const weights = new Float64Array(forest.plan.goal.length);
  return Array.from(rows, (row) => {
    weights.fill(0);
    addLeaves(forest, forest.binned.bins, row, weights, forest.block[row] as number);
    const own = new Float64Array(probabilities.length);
    weightedQuantiles(forest, weights, probabilities, own);
    return own;
  });
}
