/** Trends of one span as a table in CSV: a row per bucket, its mean, lowest and highest value for each point. */
import type { PointTrend } from './point-queries.ts';

export interface TrendColumn {
  /** Instance and name of the point. */
  readonly name: string;
  readonly trend: PointTrend;
}

/** Times are the starts of buckets, in UTC; a bucket without a value of a point is empty there. */
export function trendTable(columns: readonly TrendColumn[]): string {
  const byTime = columns.map(({ trend }) => new Map(trend.buckets.map((bucket) => [bucket.t, bucket])));
  const times = [...new Set(byTime.flatMap((buckets) => [...buckets.keys()]))].toSorted();
  const head = columns.flatMap(({ name, trend }) =>
    ['mean', 'min', 'max'].map((what) => quoted(`${name} ${what}${trend.unit === '1' ? '' : ` [${trend.unit}]`}`)),
  );
  const rows = times.map((time) => [
    time,
    ...byTime.flatMap((buckets) => {
      const bucket = buckets.get(time);
      return [bucket?.mean, bucket?.min, bucket?.max].map((value) => value ?? '');
    }),
  ]);
  return [['time', ...head], ...rows].map((row) => `${row.join(',')}\r\n`).join('');
}

/** After RFC 4180. */
function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
