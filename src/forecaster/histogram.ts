/**
 * Sums and counts of a target by bin, for several columns at once, and the best cut between the bins. All rows weigh the same here:
 * rows of less weight are left out of bags more often, so that a histogram is a sum and a count.
 */
import { binsMax } from './binning.ts';

/** Per column and bin a sum and a count, side by side. */
export type Histogram = Float64Array;

const stride = 2 * binsMax;

export function newHistogram(columns: number): Histogram {
  return new Float64Array(columns * stride);
}

/** `target[at]` belongs to `rows[at]`; two columns are filled in one pass, which hides the latency of either. */
export function fillHistogram(
  into: Histogram,
  bins: readonly Uint8Array[],
  columns: Int32Array,
  columnCount: number,
  rows: Int32Array,
  target: Float64Array,
  from: number,
  to: number,
): void {
  into.fill(0, 0, columnCount * stride);
  for (let index = 0; index + 1 < columnCount; index += 2) {
    const first = bins[columns[index] as number] as Uint8Array;
    const second = bins[columns[index + 1] as number] as Uint8Array;
    const firstAt = index * stride;
    const secondAt = firstAt + stride;
    for (let at = from; at < to; at++) {
      const row = rows[at] as number;
      const value = target[at] as number;
      const one = firstAt + 2 * (first[row] as number);
      const two = secondAt + 2 * (second[row] as number);
      into[one] = (into[one] as number) + value;
      into[one + 1] = (into[one + 1] as number) + 1;
      into[two] = (into[two] as number) + value;
      into[two + 1] = (into[two + 1] as number) + 1;
    }
  }
  if (columnCount % 2 === 0) return;
  const last = bins[columns[columnCount - 1] as number] as Uint8Array;
  const lastAt = (columnCount - 1) * stride;
  for (let at = from; at < to; at++) {
    const one = lastAt + 2 * (last[rows[at] as number] as number);
    into[one] = (into[one] as number) + (target[at] as number);
    into[one + 1] = (into[one + 1] as number) + 1;
  }
}

/** The sibling's histogram: the parent less this one, in place of the parent. */
export function subtractHistogram(parent: Histogram, own: Histogram, columnCount: number): void {
  const length = columnCount * stride;
  for (let index = 0; index < length; index++) parent[index] = (parent[index] as number) - (own[index] as number);
}

export interface Cut {
  /** Index of the column in the list that the histogram was filled for; −1 when no cut gains anything. */
  column: number;
  /** Cells with a bin up to this one go left. */
  bin: number;
  gain: number;
}

/** The cut with the largest gain in explained squares; ties go to the first found. */
export function bestCut(
  own: Histogram,
  columnCount: number,
  sum: number,
  count: number,
  leafMin: number,
  shrinkage: number,
): Cut {
  const parent = (sum * sum) / (count + shrinkage);
  const cut: Cut = { column: -1, bin: 0, gain: 1e-12 * (1 + Math.abs(parent)) };
  for (let column = 0; column < columnCount; column++) {
    const base = column * stride;
    let leftSum = 0;
    let leftCount = 0;
    for (let bin = 0; bin < binsMax - 1; bin++) {
      const here = own[base + 2 * bin + 1] as number;
      if (here === 0) continue;
      leftSum += own[base + 2 * bin] as number;
      leftCount += here;
      if (leftCount < leafMin) continue;
      const rightCount = count - leftCount;
      if (rightCount < leafMin) break;
      const rightSum = sum - leftSum;
      const gain =
        (leftSum * leftSum) / (leftCount + shrinkage) + (rightSum * rightSum) / (rightCount + shrinkage) - parent;
      if (gain > cut.gain) {
        cut.gain = gain;
        cut.column = column;
        cut.bin = bin;
      }
    }
  }
  return cut;
}
