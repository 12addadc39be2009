/** Time spans of trend requests: on whole buckets, and on whole minutes if buckets are that wide. */

/** A span of time in seconds since the epoch. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** The span of an answer. */
export function spanOf({ from, to }: { readonly from: string; readonly to: string }): TimeSpan {
  return { from: Date.parse(from) / 1000, to: Date.parse(to) / 1000 };
}

/**
 * At most `count` whole buckets, up to the end of the span: rollups are then exact, and no rows are read. Less than one
 * bucket at the beginning may be left out.
 */
export function wholeBuckets({ from, to }: TimeSpan, most: number): TimeSpan & { readonly buckets: number } {
  const bucket = Math.max(1, Math.ceil((to - from) / most));
  const step = bucket >= 60 ? Math.ceil(bucket / 60) * 60 : bucket;
  const last = Math.ceil(to / step) * step;
  const first = Math.max(Math.floor(from / step) * step, last - most * step);
  return { from: first, to: last, buckets: (last - first) / step };
}
