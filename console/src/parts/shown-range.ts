/** From the lowest to the highest of the values that a chart shows. */

export interface ShownRange {
  readonly low: number;
  readonly high: number;
}

/** Means of one and the same value differ by rounding; a chart that shows that shows change where there is none. */
const roundingShare = 1e-9;
/** Around zero, where a share is nothing. */
const roundingLeast = 1e-12;

/** Both the same where nothing but rounding lies between them; null without values. */
export function shownRange(values: readonly (number | null | undefined)[]): ShownRange | null {
  const there = values.filter((value) => value !== null && value !== undefined);
  if (there.length === 0) return null;
  // Not by spreading: a series may have more values than a call takes arguments.
  const low = there.reduce((least, value) => Math.min(least, value));
  const high = there.reduce((most, value) => Math.max(most, value));
  const rounding = Math.max(roundingLeast, roundingShare * Math.max(Math.abs(low), Math.abs(high)));
  return high - low <= rounding ? { low, high: low } : { low, high };
}

/** Room above and below, as a share of the values' range; of their size where they are all the same. */
const roomShare = 0.08;

/** What the axis of a chart shows: all values with some room. */
export function axisRange(values: readonly (number | null | undefined)[]): [number, number] {
  const { low, high } = shownRange(values) ?? { low: 0, high: 0 };
  const share = (high > low ? high - low : Math.abs(low)) * roomShare;
  const room = high > low || share > roundingLeast ? share : 1;
  return [low - room, high + room];
}

/** Where a value lies between the lower and the upper edge of a small chart; in the middle where all are the same. */
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
