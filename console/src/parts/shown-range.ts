/** The range of values that a chart shows. */

export interface ShownRange {
  readonly low: number;
  readonly high: number;
}

/** Relative difference up to which values count as equal: means of a constant value differ by rounding. */
const roundingShare = 1e-9;
/** The same for values near zero, in their unit. */
const roundingLeast = 1e-12;

/** `low` equals `high` if the values differ only by rounding. Null without values. */
export function shownRange(values: readonly (number | null | undefined)[]): ShownRange | null {
  const there = values.filter((value) => value !== null && value !== undefined);
  if (there.length === 0) return null;
  // A spread would exceed the argument limit of a call with a long series.
  const low = there.reduce((least, value) => Math.min(least, value));
  const high = there.reduce((most, value) => Math.max(most, value));
  const rounding = Math.max(roundingLeast, roundingShare * Math.max(Math.abs(low), Math.abs(high)));
  return high - low <= rounding ? { low, high: low } : { low, high };
}

/** Margin above and below, relative to the range, or to the value itself if all values are equal. */
const roomShare = 0.08;

/** The range of an axis: all values, with a margin. */
export function axisRange(values: readonly (number | null | undefined)[]): [number, number] {
  const { low, high } = shownRange(values) ?? { low: 0, high: 0 };
  const share = (high > low ? high - low : Math.abs(low)) * roomShare;
  const room = high > low || share > roundingLeast ? share : 1;
  return [low - room, high + room];
}

/** Maps a value to its height in a small chart, or to the middle if all values are equal. */
export function placeIn(
  range: ShownRange | null,
  box: { readonly height: number; readonly edge: number },
): (value: number) => number {
  const { height, edge } = box;
  return (value) =>
    range === null || range.high === range.low
      ? height / 2
      : height - edge - ((value - range.low) / (range.high - range.low)) * (height - 2 * edge);
}
