/** What a limit leaves of the range of an actuator [points §7.2]. */

interface Range {
  readonly min: number | null;
  readonly max: number | null;
}

/** The only value that the bounds leave, cut to the range of the point; undefined if they leave several. Where they cross, the upper one applies. */
export function heldByLimit(bounds: Range, point: Range): number | undefined {
  const within = (bound: number): number =>
    Math.min(Math.max(bound, point.min ?? Number.NEGATIVE_INFINITY), point.max ?? Number.POSITIVE_INFINITY);
  const low = within(bounds.min ?? Number.NEGATIVE_INFINITY);
  const high = within(bounds.max ?? Number.POSITIVE_INFINITY);
  return low >= high ? high : undefined;
}
