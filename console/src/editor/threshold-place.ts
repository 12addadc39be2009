/** Maps values to heights in the threshold chart, and a height back to a value. */

interface Bucket {
  readonly t: string;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
}

export interface Band {
  readonly low: number;
  readonly high: number;
}

/** What the chart shows: all values and the threshold, with some room above and below. */
export function shownBand(buckets: readonly Pick<Bucket, 'min' | 'max'>[], threshold: number | null): Band {
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

/** Lines through the bucket means, broken at gaps of more than three buckets. */
export function linesOf(
  buckets: readonly Pick<Bucket, 't' | 'mean'>[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  width: number,
  yOf: (value: number) => number,
): string[] {
  const bucketWidth = width / 240;
  const lines: string[] = [];
  let lastX = Number.NEGATIVE_INFINITY;
  for (const { t: at, mean } of buckets) {
    const x = ((Date.parse(at) - fromMs) / (toMs - fromMs)) * width;
    const place = `${x.toFixed(1)} ${yOf(mean).toFixed(1)}`;
    if (x - lastX > 3 * bucketWidth) lines.push(`M${place}`);
    else lines.push(`${lines.pop() ?? ''}L${place}`);
    lastX = x;
  }
  return lines;
}
