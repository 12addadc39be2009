/**
 * A quantile regression forest: leaves keep their rows, and a forecast is the weighted distribution of the targets that
 * fell into the same leaves (Meinshausen 2006). Bags are runs of whole days, so that rows of a day can be predicted
 * out of bag, by trees that did not see that day.
 */

import { SeededStream } from '../base/seeded.ts';
import type { BinnedColumns } from './binning.ts';
import { rowsWhere, type TrainingPlan } from './learning.ts';
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
  /** Per tree and day block: 1 when the block is in the tree's bag. */
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
    const rows = rowsWhere(plan.rows, (row) => own[block[row] as number] === 1);
    const columns = Int32Array.from(binned.bins, (_, column) => column);
    const { bins } = binned;
    trees.push(growTree({ bins, target: plan.target, rows, columns }, shape, stream));
    seen.push(own);
  }
  return { binned, trees, seen, leafWeight: trees.map((tree) => weightsOf(tree, plan.weight)), plan, block };
}

/** Per column, its share of the squared error that the splits of all trees remove. */
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

const medianOnly = Float64Array.of(0.5);

/** The training rows, ordered by one of their values: the target, or a residual. */
export interface Ranking {
  /** By row. */
  readonly value: Float64Array;
  /** By row: its index in `rows`. */
  readonly place: Int32Array;
  readonly rows: Int32Array;
}

export function rankingOf({ plan }: Pick<Forest, 'plan'>, value: Float64Array): Ranking {
  const rows = plan.rows.slice().sort((a, b) => (value[a] as number) - (value[b] as number) || a - b);
  const place = new Int32Array(value.length);
  for (let at = 0; at < rows.length; at++) place[rows[at] as number] = at;
  return { value, place, rows };
}

/**
 * The training rows that share leaves with a cell, and their weighted distributions of any value. It holds its scratch arrays, so one
 * object serves many cells without allocation.
 */
export class Neighbourhood {
  readonly #forest: Forest;
  /** By row; 0 except for the neighbours. */
  readonly #weights: Float64Array;
  readonly #neighbours: Int32Array;
  readonly #places: Int32Array;
  /** One bit per index, all zero between reads. Reading them in order is faster than a sort. */
  readonly #marks: Int32Array;
  #count = 0;

  constructor(forest: Forest) {
    const { rows, target } = forest.plan;
    this.#forest = forest;
    this.#weights = new Float64Array(target.length);
    this.#neighbours = new Int32Array(rows.length);
    this.#places = new Int32Array(rows.length);
    this.#marks = new Int32Array((rows.length >> 5) + 1);
  }

  /** Finds the neighbours of `row` of `bins`; with a block, only trees whose bag does not contain it vote. */
  find(bins: readonly Uint8Array[], row: number, onlyUnseen: number): void {
    const { plan, trees, seen, leafWeight } = this.#forest;
    const weights = this.#weights;
    const neighbours = this.#neighbours;
    for (let at = 0; at < this.#count; at++) weights[neighbours[at] as number] = 0;
    let count = 0;
    for (let index = 0; index < trees.length; index++) {
      if (onlyUnseen >= 0 && (seen[index] as Uint8Array)[onlyUnseen] === 1) continue;
      const tree = trees[index] as Tree;
      const leaf = leafOf(tree, bins, row);
      const to = tree.end[leaf] as number;
      const share = 1 / ((leafWeight[index] as Float64Array)[leaf] as number);
      for (let at = tree.start[leaf] as number; at < to; at++) {
        const member = tree.rows[at] as number;
        if (weights[member] === 0) neighbours[count++] = member;
        weights[member] = (weights[member] as number) + (plan.weight[member] as number) * share;
      }
    }
    this.#count = count;
  }

  /** For the neighbours found; NaN when no tree voted. */
  median(of: Ranking): number {
    return this.#read(of, medianOnly)[0] as number;
  }

  /** At the levels, for the neighbours found; all NaN when no tree voted. */
  quantiles(of: Ranking): Float64Array {
    return this.#read(of, levels);
  }

  /** Indexes of the neighbours, ascending. */
  #ordered(place: Int32Array): Int32Array {
    const [marks, places] = [this.#marks, this.#places];
    for (let at = 0; at < this.#count; at++) {
      const own = place[this.#neighbours[at] as number] as number;
      marks[own >> 5] = (marks[own >> 5] as number) | (1 << (own & 31));
    }
    let count = 0;
    for (let word = 0; word < marks.length; word++) {
      for (let left = marks[word] as number; left !== 0; left &= left - 1)
        places[count++] = word * 32 + 31 - Math.clz32(left & -left);
      marks[word] = 0;
    }
    return places.subarray(0, count);
  }

  /** Interpolates between weighted ranks. */
  #read({ value, place, rows }: Ranking, wanted: Float64Array): Float64Array {
    const into = new Float64Array(wanted.length);
    const places = this.#ordered(place);
    let total = 0;
    for (let at = 0; at < places.length; at++) total += this.#weights[rows[places[at] as number] as number] as number;
    if (!(total > 0)) return into.fill(Number.NaN);
    let next = 0;
    let below = 0;
    let previousMiddle = 0;
    let previous = Number.NaN;
    for (let at = 0; at < places.length; at++) {
      const row = rows[places[at] as number] as number;
      const weight = this.#weights[row] as number;
      const middle = (below + weight / 2) / total;
      const own = value[row] as number;
      while (next < into.length && (wanted[next] as number) <= middle) {
        const part = ((wanted[next] as number) - previousMiddle) / (middle - previousMiddle);
        into[next++] = previous === previous ? previous + (own - previous) * part : own;
      }
      if (next >= into.length) return into;
      below += weight;
      previousMiddle = middle;
      previous = own;
    }
    while (next < into.length) into[next++] = previous;
    return into;
  }
}
