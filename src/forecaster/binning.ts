/** Columns of numbers as bins of equal population, computed once per fit: trees then compare bytes and need no sorting. */

/** At most this many bins per column; bin 0 is reserved for missing cells, so a bin fits a byte. */
export const binsMax = 64;

export interface BinnedColumns {
  readonly bins: readonly Uint8Array[];
  readonly cuts: readonly Float64Array[];
}

/** Cuts each column at quantiles of the cells of `rows`, and bins all `count` cells of it. */
export function binColumns(columns: readonly Float64Array[], rows: Int32Array, count: number): BinnedColumns {
  const cuts = columns.map((column) => cutsOf(column, rows));
  const bins = columns.map((column, index) => binColumn(column, cuts[index] ?? new Float64Array(0), count));
  return { bins, cuts };
}

function cutsOf(column: Float64Array, rows: Int32Array): Float64Array {
  const values = new Float64Array(rows.length);
  let filled = 0;
  for (let index = 0; index < rows.length; index++) {
    const value = column[rows[index] ?? 0] ?? Number.NaN;
    if (value === value) values[filled++] = value;
  }
  const sorted = values.subarray(0, filled).sort();
  const cuts: number[] = [];
  const inner = filled > 0 ? binsMax - 2 : 0;
  for (let cut = 1; cut <= inner; cut++) {
    const at = Math.floor((cut * filled) / (inner + 1));
    const low = sorted[Math.max(0, at - 1)] ?? 0;
    const high = sorted[at] ?? 0;
    if (low === high) continue;
    const middle = low + (high - low) / 2;
    if (cuts.length === 0 || middle > (cuts[cuts.length - 1] ?? 0)) cuts.push(middle);
  }
  // With few distinct values, cut between each two neighbours.
  if (cuts.length < 8) return distinctCuts(sorted, inner) ?? Float64Array.from(cuts);
  return Float64Array.from(cuts);
}

function distinctCuts(sorted: Float64Array, cutsMax: number): Float64Array | undefined {
  const cuts: number[] = [];
  for (let index = 1; index < sorted.length; index++) {
    const low = sorted[index - 1] ?? 0;
    const high = sorted[index] ?? 0;
    if (high > low) cuts.push(low + (high - low) / 2);
    if (cuts.length > cutsMax) return undefined;
  }
  return Float64Array.from(cuts);
}

/** Bin 0 for missing, else 1 + the number of cuts below the value. */
export function binColumn(column: Float64Array, cuts: Float64Array, count: number): Uint8Array {
  const bins = new Uint8Array(count);
  for (let row = 0; row < count; row++) {
    const value = column[row] ?? Number.NaN;
    if (value !== value) continue;
    let low = 0;
    let high = cuts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((cuts[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    bins[row] = low + 1;
  }
  return bins;
}
