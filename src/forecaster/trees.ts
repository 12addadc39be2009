/**
 * Regression trees on binned columns: grown level by level from histograms of gradients, used by boosting (few leaves,
 * a step each) and by the forest (many leaves, whose members are kept).
 */
import type { SeededStream } from './seeded.ts';

export interface TreeShape {
  readonly depthMax: number;
  readonly leafMin: number;
  /** Added to the weight of a node when its mean is taken: pulls small leaves to zero. */
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

interface Growth {
  readonly bins: readonly Uint8Array[];
  readonly binCounts: Int32Array;
  readonly goal: Float64Array;
  readonly weight: Float64Array;
  readonly columns: Int32Array;
  readonly shape: TreeShape;
  readonly stream: SeededStream;
  readonly sums: Float64Array;
  readonly weights: Float64Array;
  readonly counts: Int32Array;
  readonly spare: Int32Array;
}

export interface TreeInput {
  readonly bins: readonly Uint8Array[];
  readonly binCounts: Int32Array;
  /** What the tree approximates, per row. */
  readonly goal: Float64Array;
  readonly weight: Float64Array;
  /** Rows of the bag; reordered in place and kept by the tree. */
  readonly rows: Int32Array;
  /** Columns that the tree may use. */
  readonly columns: Int32Array;
}

export function growTree(input: TreeInput, shape: TreeShape, stream: SeededStream): Tree {
  const nodesMax = Math.max(1, Math.min(2 ** (shape.depthMax + 1), 2 * Math.ceil(input.rows.length / shape.leafMin)) + 1);
  const column = new Int32Array(nodesMax).fill(-1);
  const cut = new Uint8Array(nodesMax);
  const left = new Int32Array(nodesMax);
  const value = new Float64Array(nodesMax);
  const start = new Int32Array(nodesMax);
  const end = new Int32Array(nodesMax);
  const depth = new Uint8Array(nodesMax);
  const growth: Growth = {
    ...input,
    shape,
    stream,
    sums: new Float64Array(256),
    weights: new Float64Array(256),
    counts: new Int32Array(256),
    spare: new Int32Array(input.rows.length),
  };
  const { rows } = input;
  end[0] = rows.length;
  let nodes = 1;
  for (let node = 0; node < nodes; node++) {
    const from = start[node] ?? 0;
    const to = end[node] ?? 0;
    let sum = 0;
    let weight = 0;
    for (let at = from; at < to; at++) {
      const row = rows[at] ?? 0;
      const own = input.weight[row] ?? 0;
      sum += own * (input.goal[row] ?? 0);
      weight += own;
    }
    value[node] = sum / (weight + shape.shrinkage);
    if ((depth[node] ?? 0) >= shape.depthMax || to - from < 2 * shape.leafMin || nodes + 2 > nodesMax) continue;
    const split = bestSplit(growth, rows, from, to, sum, weight);
    if (split === undefined) continue;
    const middle = partition(growth, rows, from, to, split.column, split.cut);
    column[node] = split.column;
    cut[node] = split.cut;
    left[node] = nodes;
    start[nodes] = from;
    end[nodes] = middle;
    start[nodes + 1] = middle;
    end[nodes + 1] = to;
    depth[nodes] = depth[nodes + 1] = (depth[node] ?? 0) + 1;
    nodes += 2;
  }
  return { column, cut, left, value, start, end, rows };
}

function bestSplit(
  growth: Growth,
  rows: Int32Array,
  from: number,
  to: number,
  sum: number,
  weight: number,
): { column: number; cut: number } | undefined {
  const { columns, shape, sums, weights, counts } = growth;
  let tried = columns.length;
  if (shape.columnsPerSplit > 0 && shape.columnsPerSplit < tried) {
    tried = shape.columnsPerSplit;
    growth.stream.drawInPlace(columns, tried);
  }
  const { leafMin, shrinkage } = shape;
  const parent = (sum * sum) / (weight + shrinkage);
  let bestGain = 1e-12 * (1 + Math.abs(parent));
  let bestColumn = -1;
  let bestCut = 0;
  for (let index = 0; index < tried; index++) {
    const column = columns[index] ?? 0;
    const binCount = growth.binCounts[column] ?? 0;
    if (binCount < 3) continue;
    fillHistogram(growth, column, binCount, rows, from, to);
    let leftSum = 0;
    let leftWeight = 0;
    let leftCount = 0;
    for (let bin = 0; bin < binCount - 1; bin++) {
      const own = counts[bin] ?? 0;
      if (own === 0) continue;
      leftSum += sums[bin] ?? 0;
      leftWeight += weights[bin] ?? 0;
      leftCount += own;
      if (leftCount < leafMin) continue;
      if (to - from - leftCount < leafMin) break;
      const rightSum = sum - leftSum;
      const gain =
        (leftSum * leftSum) / (leftWeight + shrinkage) +
        (rightSum * rightSum) / (weight - leftWeight + shrinkage) -
        parent;
      if (gain > bestGain) {
        bestGain = gain;
        bestColumn = column;
        bestCut = bin;
      }
    }
  }
  return bestColumn < 0 ? undefined : { column: bestColumn, cut: bestCut };
}

function fillHistogram(
  growth: Growth,
  column: number,
  binCount: number,
  rows: Int32Array,
  from: number,
  to: number,
): void {
  const { sums, weights, counts, goal, weight } = growth;
  sums.fill(0, 0, binCount);
  weights.fill(0, 0, binCount);
  counts.fill(0, 0, binCount);
  const bins = growth.bins[column];
  if (bins === undefined) throw new Error(`no column ${column}`);
  for (let at = from; at < to; at++) {
    const row = rows[at] as number;
    const bin = bins[row] as number;
    const own = weight[row] as number;
    sums[bin] = (sums[bin] as number) + own * (goal[row] as number);
    weights[bin] = (weights[bin] as number) + own;
    counts[bin] = (counts[bin] as number) + 1;
  }
}

/** Keeps the order within each side, so that a tree does not depend on how its rows were arranged before. */
function partition(growth: Growth, rows: Int32Array, from: number, to: number, column: number, cut: number): number {
  const bins = growth.bins[column];
  if (bins === undefined) throw new Error(`no column ${column}`);
  const { spare } = growth;
  let left = from;
  let right = 0;
  for (let at = from; at < to; at++) {
    const row = rows[at] as number;
    if ((bins[row] as number) <= cut) rows[left++] = row;
    else spare[right++] = row;
  }
  rows.set(spare.subarray(0, right), left);
  return left;
}

/** The leaf of `tree` in which `row` of the binned columns falls. */
export function leafOf(tree: Tree, bins: readonly Uint8Array[], row: number): number {
  let node = 0;
  for (;;) {
    const column = tree.column[node] as number;
    if (column < 0) return node;
    const bin = (bins[column] as Uint8Array)[row] as number;
    node = (tree.left[node] as number) + (bin <= (tree.cut[node] as number) ? 0 : 1);
  }
}
