/** Maps values to heights in the threshold chart, and a height back to a value. */

interface Bucket {
  readonly min: number;
  readonly max: number;
}

export interface Band {
  readonly low: number;
  readonly high: number;
}

/** What the chart shows: all values and the threshold, with some room above and below. */
export function shownBand(buckets: readonly Bucket[], threshold: number | null): Band {
  const values = [...buckets.flatMap(({ min, max }) => [min, max]), ...(threshold === null ? [] : [threshold])];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const share = (high - low) * 0.1;
  // A span at the edge of what a number resolves is drawn as a flat line.
  const room = share > Math.max(1e-12, largest * 1e-9) ? share : Math.max(1, largest * 0.1);
  return { low: low - room, high: high + room };
}

/** The value at a share of the height, to three digits of what the chart spans. */
export function valueAtShare(share: number, { low, high }: Band): number {
  const step = 10 ** (Math.floor(Math.log10(high - low)) - 2);
  const steps = Math.round((low + Math.min(1, Math.max(0, share)) * (high - low)) / step);
  return Number((steps * step).toPrecision(12));
}
