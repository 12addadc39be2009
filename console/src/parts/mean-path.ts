/** A series of bucket means as an SVG path. */

interface MeanSeries {
  readonly from: string;
  readonly to: string;
  readonly bucket_seconds: number;
  readonly buckets: readonly { readonly t: string; readonly mean: number }[];
}

/** A distance of more buckets than this between two values breaks the line. */
const gapBuckets = 3;

export function meanPath(
  { from, to, bucket_seconds: seconds, buckets }: MeanSeries,
  width: number,
  yOf: (mean: number) => number,
): string {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  let beforeMs = Number.NEGATIVE_INFINITY;
  return buckets
    .map(({ t: at, mean }) => {
      const ms = Date.parse(at);
      const command = ms - beforeMs > gapBuckets * seconds * 1000 ? 'M' : 'L';
      beforeMs = ms;
      return `${command}${(((ms - fromMs) / (toMs - fromMs)) * width).toFixed(1)} ${yOf(mean).toFixed(1)}`;
    })
    .join('');
}
