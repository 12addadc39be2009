/** Maps values to heights in the threshold chart, and a height back to a value. */
import { type ShownRange, shownRange } from '../parts/shown-range.ts';

interface Bucket {
  readonly min: number;
  readonly max: number;
}

/** The range of the chart: all values and the threshold, with a margin above and below. */
export function shownBand(buckets: readonly Bucket[], threshold: number | null): ShownRange {
  const { low, high } = shownRange([...buckets.flatMap(({ min, max }) => [min, max]), threshold]) ?? {
    low: 0,
    high: 0,
  };
  const room = (high - low) * 0.1 || Math.max(1, Math.abs(high) * 0.1);
  return { low: low - room, high: high + room };
}

/** The value at a share of the height, rounded to three digits of the chart's range. */
export function valueAtShare(share: number, { low, high }: ShownRange): number {
  const step = 10 ** (Math.floor(Math.log10(high - low)) - 2);
  const steps = Math.round((low + Math.min(1, Math.max(0, share)) * (high - low)) / step);
  return Number((steps * step).toPrecision(12));
}
