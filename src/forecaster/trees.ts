/**
 * Regression trees on binned columns, grown level by level. Boosting asks for few leaves on one set of columns (the larger
 * child's histogram is then its parent's less its sibling's); the forest for many leaves, each cut on columns drawn again.
 */

import type { SeededStream } from '../base/seeded.ts';
import { bestCut, fillHistogram, type Histogram, newHistogram, subtractHistogram } from './histogram.ts';

export interface TreeShape {
  readonly depthMax: number;
  readonly leafMin: number;
  /** Added to the count of a node when its mean is taken: shrinks small leaves to zero. */
  readonly shrinkage: number;
  /** Columns tried at each split; 0 tries all of the tree's columns. */
  readonly columnsPerSplit: number;
}

/** One tree as parallel arrays; a leaf has column −1. Cells of a bin ≤ cut go left. */
export interface Tree {
  readonly column: Int32Array;
  readonly cut: Uint8Array;
  readonly left: Int32Array;
  readonly value: Float64Array;
  readonly start: Int32Array;
  readonly end: Int32Array;
  /** The training rows in leaf order: a leaf's are `rows[start..end)`. */
  readonly rows: Int32Array;
}

export interface TreeInput {
  readonly bins: readonly Uint8Array[];
  /** The target, per row. */
  readonly target: Float64Array;
  /** Rows of the bag; reordered in place and kept by the tree. */
  readonly rows: Int32Array;
  /** Columns that the tree may use; reordered in place when each split draws its own. */
  readonly columns: Int32Array;
}

interface Growth {
  readonly input: TreeInput;
  readonly shape: TreeShape;
  readonly stream: SeededStream;
  /** Targets in the order of the rows. */
  readonly target: Float64Array;
  readonly spareRows: Int32Array;
  readonly spareGoal: Float64Array;
  /** Histograms by node, while its children may need them. */
  readonly kept: (Histogram | undefined)[];
  readonly free: Histogram[];
}

export function growTree(input: TreeInput, shape: TreeShape, stream: SeededStream): Tree {
  const { rows } = input;
  const nodesMax = Math.max(1, Math.min(2 ** (shape.depthMax + 1), 2 * Math.ceil(rows.length / shape.leafMin)) + 1);
  const tree: Tree = {
    column: new Int32Array(nodesMax).fill(-1),
    cut: new Uint8Array(nodesMax),
    left: new Int32Array(nodesMax),
    value: new Float64Array(nodesMax),
    start: new Int32Array(nodesMax),
    end: new Int32Array(nodesMax),
    rows,
  };
  const growth: Growth = {
    input,
    shape,
    stream,
    target: gathered(input.target, rows),
    spareRows: new Int32Array(rows.length),
    spareGoal: new Float64Array(rows.length),
    kept: [],
    free: [],
  };
  const depth = new Uint8Array(nodesMax);
  tree.end[0] = rows.length;
  let nodes = 1;
  for (let node = 0; node < nodes; node++) {
    const from = tree.start[node] as number;
    const to = tree.end[node] as number;
    let sum = 0;
    for (let at = from; at < to; at++) sum += growth.target[at] as number;
    tree.value[node] = sum / (to - from + shape.shrinkage);
    const level = depth[node] as number;
    const splits = level < shape.depthMax && to - from >= 2 * shape.leafMin && nodes + 2 <= nodesMax;
    const cut = splits ? cutOf(growth, node, from, to, sum) : undefined;
    if (cut === undefined) {
      release(growth, node);
      continue;
    }
    const middle = partition(growth, from, to, cut.column, cut.bin);
    tree.column[node] = cut.column;
    tree.cut[node] = cut.bin;
    tree.left[node] = nodes;
    tree.start[nodes] = from;
    tree.end[nodes] = middle;
    tree.start[nodes + 1] = middle;
    tree.end[nodes + 1] = to;
    depth[nodes] = level + 1;
    depth[nodes + 1] = level + 1;
    if (level + 1 < shape.depthMax) shareHistogram(growth, node, nodes, from, middle, to);
    release(growth, node);
    nodes += 2;
  }
  return tree;
}

function gathered(target: Float64Array, rows: Int32Array): Float64Array {
  const found = new Float64Array(rows.length);
  for (let at = 0; at < rows.length; at++) found[at] = target[rows[at] as number] as number;
  return found;
}

function release(growth: Growth, node: number): void {
  const own = growth.kept[node];
  if (own === undefined) return;
  growth.free.push(own);
  growth.kept[node] = undefined;
}

function take(growth: Growth, columns: number): Histogram {
  return growth.free.pop() ?? newHistogram(columns);
}

function cutOf(
  growth: Growth,
  node: number,
  from: number,
  to: number,
  sum: number,
): { column: number; bin: number } | undefined {
  const { input, shape, stream } = growth;
  const { columns, bins, rows } = input;
  const drawn = shape.columnsPerSplit > 0 && shape.columnsPerSplit < columns.length;
  const tried = drawn ? shape.columnsPerSplit : columns.length;
  if (drawn) stream.drawInPlace(columns, tried);
  let own = growth.kept[node];
  if (own === undefined) {
    own = take(growth, tried);
    fillHistogram(own, bins, columns, tried, rows, growth.target, from, to);
    growth.kept[node] = own;
  }
  const cut = bestCut(own, tried, sum, to - from, shape.leafMin, shape.shrinkage);
  return cut.column < 0 ? undefined : { column: columns[cut.column] as number, bin: cut.bin };
}

/** Fills the smaller child's histogram and leaves the larger child the rest; nothing to share when splits draw columns. */
function shareHistogram(growth: Growth, node: number, left: number, from: number, middle: number, to: number): void {
  const { input, shape } = growth;
  const { columns, bins, rows } = input;
  if (shape.columnsPerSplit > 0 && shape.columnsPerSplit < columns.length) return;
  const parent = growth.kept[node];
  if (parent === undefined) return;
  const leftIsSmall = middle - from <= to - middle;
  const small = take(growth, columns.length);
  if (leftIsSmall) fillHistogram(small, bins, columns, columns.length, rows, growth.target, from, middle);
  else fillHistogram(small, bins, columns, columns.length, rows, growth.target, middle, to);
  subtractHistogram(parent, small, columns.length);
  growth.kept[left] = leftIsSmall ? small : parent;
  growth.kept[left + 1] = leftIsSmall ? parent : small;
  growth.kept[node] = undefined;
}

/** Keeps the order within each side, so that a tree does not depend on how its rows were arranged before. */
function partition(growth: Growth, from: number, to: number, column: number, cut: number): number {
  const { target, spareRows, spareGoal } = growth;
  const { rows } = growth.input;
  const bins = growth.input.bins[column];
  if (bins === undefined) throw new Error(`no column ${column}`);
  let left = from;
  let right = 0;
  for (let at = from; at < to; at++) {
    const row = rows[at] as number;
    const value = target[at] as number;
    const isRight = isAbove(bins[row] as number, cut);
    // Written to both sides, and kept by one: which one is as good as random, so a branch would be guessed wrong half of the time.
    rows[left] = row;
    target[left] = value;
    spareRows[right] = row;
    spareGoal[right] = value;
    left += 1 - isRight;
    right += isRight;
  }
  rows.set(spareRows.subarray(0, right), left);
  target.set(spareGoal.subarray(0, right), left);
  return left;
}

/** 1 for a bin above the cut, else 0; without a branch. */
function isAbove(bin: number, cut: number): number {
  return (cut - bin) >>> 31;
}

/** The leaf of `tree` in which `row` of the binned columns falls. */
export function leafOf(tree: Tree, bins: readonly Uint8Array[], row: number): number {
  let node = 0;
  for (;;) {
    const column = tree.column[node] as number;
    if (column < 0) return node;
    const bin = (bins[column] as Uint8Array)[row] as number;
    node = (tree.left[node] as number) + isAbove(bin, tree.cut[node] as number);
  }
}
