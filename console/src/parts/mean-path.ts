/** A series of bucket means as an SVG path. */
import { gapsAfter } from './trend-gaps.ts';

interface MeanSeries {
  readonly from: string;
  readonly to: string;
  readonly buckets: readonly { readonly t: string; readonly mean: number; readonly observations: number }[];
}

/** A gap in the record breaks the line; a mean between two gaps is a dash. */
export function meanPath({ from, to, buckets }: MeanSeries, width: number, yOf: (mean: number) => number): string {
  const [start, end] = [from, to].map(unixOf) as [number, number];
  const timed = buckets.map((bucket) => ({ ...bucket, unix: unixOf(bucket.t) }));
  const gaps = gapsAfter(timed);
  const isFirst = (at: number): boolean => at === 0 || gaps[at - 1] !== null;
  return timed
    .map(({ unix, mean }, at) => {
      const place = `${(((unix - start) / (end - start)) * width).toFixed(1)} ${yOf(mean).toFixed(1)}`;
      const isLast = at === timed.length - 1 || gaps[at] !== null;
      return isFirst(at) ? `M${place}${isLast ? 'h1' : ''}` : `L${place}`;
    })
    .join('');
}

function unixOf(time: string): number {
  return Date.parse(time) / 1000;
}
