/** Means over windows and medians, of values that may be missing (NaN). */

/** Means over windows of one series, from sums of the cells before each index; missing cells do not count. */
export class WindowMeans {
  private readonly sums: Float64Array;
  private readonly counts: Int32Array;

  constructor(values: Float64Array) {
    this.sums = new Float64Array(values.length + 1);
    this.counts = new Int32Array(values.length + 1);
    for (let cell = 0; cell < values.length; cell++) {
      const value = values[cell] as number;
      const known = value === value;
      this.sums[cell + 1] = (this.sums[cell] as number) + (known ? value : 0);
      this.counts[cell + 1] = (this.counts[cell] as number) + (known ? 1 : 0);
    }
  }

  /** Mean of the cells in (from, to], drawn in at the ends; NaN when fewer than `knownMin` of them are known. */
  mean(from: number, to: number, knownMin = 1): number {
    const last = this.counts.length - 1;
    const high = Math.max(0, Math.min(last, to + 1));
    const low = Math.max(0, Math.min(high, from + 1));
    const count = (this.counts[high] as number) - (this.counts[low] as number);
    return count < knownMin ? Number.NaN : ((this.sums[high] as number) - (this.sums[low] as number)) / count;
  }
}

/** The median of known values; NaN of none. */
export function median(values: readonly number[]): number {
  // As numbers side by side they are sorted without a call for each comparison.
  const sorted = Float64Array.from(values).sort();
  return middleOf(sorted, sorted.length);
}

/** The median of the first `count` of a few values, which are reordered; NaN of none. */
export function medianOfFew(values: Float64Array, count: number): number {
  for (let at = 1; at < count; at++) {
    const value = values[at] as number;
    let place = at;
    for (; place > 0 && (values[place - 1] as number) > value; place--) values[place] = values[place - 1] as number;
    values[place] = value;
  }
  return middleOf(values, count);
}

function middleOf(sorted: Float64Array, count: number): number {
  if (count === 0) return Number.NaN;
  const middle = count >> 1;
  return count % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
