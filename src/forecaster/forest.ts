/**
 * A quantile regression forest: leaves keep their rows, and a forecast is the weighted distribution of the targets that
 * fell into the same leaves (Meinshausen 2006). Bags are runs of whole days, so the rows of a day that a tree has not
 * seen are predicted out of bag by trees that never saw that day.
 */

import { SeededStream } from '../base/seeded.ts';
import type { BinnedColumns } from './binning.ts';
import type { TrainingPlan } from './learning.ts';
import { levels } from './levels.ts';
import { growTree, leafOf, type Tree, type TreeShape } from './trees.ts';

export interface ForestShape extends TreeShape {
  readonly trees: number;
  /** Share of the day blocks that a tree sees. */
  readonly bagShare: number;
}

export interface Forest {
  readonly binned: BinnedColumns;
  readonly trees: readonly Tree[];
  /** Per tree and day block: 1 when it is in the tree's bag. */
  readonly seen: readonly Uint8Array[];
  /** Per tree and node: the weight of the rows in it. */
  readonly leafWeight: readonly Float64Array[];
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
    const { bins } = binned;
    trees.push(growTree({ bins, target: plan.target, rows, columns }, shape, stream));
    seen.push(own);
  }
  return { binned, trees, seen, leafWeight: trees.map((tree) => weightsOf(tree, plan.weight)), plan, block };
}

/** Of each column, its share of the squared error that the splits of all trees remove. */
export function columnShares({ trees, binned }: Forest): Float64Array {
  const gains = new Float64Array(binned.bins.length);
  for (const tree of trees) {
    for (const [node, column] of tree.column.entries()) {
      if (column < 0) continue;
      const left = tree.left[node] as number;
      const rows = (at: number): number => (tree.end[at] as number) - (tree.start[at] as number);
      const apart = (tree.value[left] as number) - (tree.value[left + 1] as number);
      gains[column] = (gains[column] as number) + ((rows(left) * rows(left + 1)) / rows(node)) * apart * apart;
    }
  }
  const total = gains.reduce((sum, gain) => sum + gain, 0);
  return total > 0 ? gains.map((gain) => gain / total) : gains;
}

function weightsOf(tree: Tree, weight: Float64Array): Float64Array {
  return Float64Array.from(tree.column, (column, node) => {
    let total = 0;
    if (column < 0)
      for (let at = tree.start[node] as number; at < (tree.end[node] as number); at++)
        total += weight[tree.rows[at] as number] as number;
    return total;
  });
}

/**
 * Weighted distributions of one value per training row (the target, or a residual) over the rows that share
 * leaves with a cell. Holds its scratch arrays, so one of these serves many cells without allocating in between.
 */
export class Neighbourhood {
  private readonly forest: Forest;
  private readonly value: Float64Array;
  private readonly weights: Float64Array;
  /** Rank of each training row by value, and the rows by rank. */
  private readonly rank: Int32Array;
  private readonly ranked: Int32Array;
  private readonly touched: Int32Array;
  private readonly totals: readonly Float64Array[];

  constructor(forest: Forest, value: Float64Array) {
    const { rows } = forest.plan;
    this.forest = forest;
    this.value = value;
    this.ranked = rows.slice().sort((a, b) => (value[a] as number) - (value[b] as number) || a - b);
    this.rank = new Int32Array(value.length);
    for (let place = 0; place < this.ranked.length; place++) this.rank[this.ranked[place] as number] = place;
    this.weights = new Float64Array(this.ranked.length);
    this.touched = new Int32Array(this.ranked.length);
    this.totals = forest.leafWeight;
  }

  /** Quantiles at the levels for `row` of `bins`; with a block, only trees whose bag does not contain it vote. */
  quantiles(bins: readonly Uint8Array[], row: number, onlyUnseen: number): Float64Array {
    const touched = this.gather(bins, row, onlyUnseen);
    const into = new Float64Array(levels.length);
    this.readQuantiles(touched, into);
    for (let at = 0; at < touched.length; at++) this.weights[touched[at] as number] = 0;
    return into;
  }

  /** Ranks of the rows that share a leaf, ascending, their weights set. */
  private gather(bins: readonly Uint8Array[], row: number, onlyUnseen: number): Int32Array {
    const { forest, weights, rank, touched } = this;
    const { plan } = forest;
    let count = 0;
    for (let index = 0; index < forest.trees.length; index++) {
      if (onlyUnseen >= 0 && (forest.seen[index] as Uint8Array)[onlyUnseen] === 1) continue;
      const tree = forest.trees[index] as Tree;
      const leaf = leafOf(tree, bins, row);
      const to = tree.end[leaf] as number;
      const share = 1 / ((this.totals[index] as Float64Array)[leaf] as number);
      for (let at = tree.start[leaf] as number; at < to; at++) {
        const member = tree.rows[at] as number;
        const place = rank[member] as number;
        if (weights[place] === 0) touched[count++] = place;
        weights[place] = (weights[place] as number) + (plan.weight[member] as number) * share;
      }
    }
    return touched.subarray(0, count).sort();
  }

  /** Interpolates between weighted ranks; all NaN when no tree voted. */
  private readQuantiles(touched: Int32Array, into: Float64Array): void {
    let total = 0;
    for (let at = 0; at < touched.length; at++) total += this.weights[touched[at] as number] as number;
    if (!(total > 0)) {
      into.fill(Number.NaN);
      return;
    }
    let next = 0;
    let below = 0;
    let previousMiddle = 0;
    let previous = Number.NaN;
    for (let at = 0; at < touched.length; at++) {
      const place = touched[at] as number;
      const own = this.weights[place] as number;
      const middle = (below + own / 2) / total;
      const value = this.value[this.ranked[place] as number] as number;
      while (next < into.length && (levels[next] as number) <= middle) {
        const part = ((levels[next] as number) - previousMiddle) / (middle - previousMiddle);
        into[next++] = previous === previous ? previous + (value - previous) * part : value;
      }
      if (next >= into.length) return;
      below += own;
      previousMiddle = middle;
      previous = value;
    }
    while (next < into.length) into[next++] = previous;
  }
}
