/** The last 24 hours of a point as a small line. */
import { useQuery } from '@tanstack/react-query';
import { meanPath } from '../parts/mean-path.ts';
import { placeIn, shownRange } from '../parts/shown-range.ts';
import { pointWords } from '../strings/points.ts';
import { fetchTrend, type PointEntry, type PointTrend, spanUpToNow } from './point-queries.ts';
import classes from './points.module.css';

const daySeconds = 86_400;
const buckets = 48;
const refreshMs = 300_000;
const box = { width: 96, height: 24, edge: 2 };

export function Sparkline({ point }: { point: PointEntry }) {
  const { instance, point_type: kind, point: id } = point;
  const trend = useQuery({
    queryKey: ['sparkline', instance, kind, id],
    enabled: point.recorded || kind === 'action',
    staleTime: refreshMs,
    refetchInterval: refreshMs,
    queryFn: () => fetchTrend(point, spanUpToNow(daySeconds), buckets),
  });
  return (
    <div className={classes['sparkline']}>
      {trend.data !== undefined && trend.data.buckets.length > 1 && (
        <svg
          viewBox={`0 0 ${box.width} ${box.height}`}
          role="img"
          aria-label={pointWords.trend.sparkline(`${point.instance_name} ${point.name}`)}
        >
          <path d={pathOf(trend.data)} fill="none" stroke="currentColor" strokeWidth={1.5} />
        </svg>
      )}
    </div>
  );
}

/** Scaled from the lowest to the highest mean. */
function pathOf(trend: PointTrend): string {
  return meanPath(trend, box.width, placeIn(shownRange(trend.buckets.map(({ mean }) => mean)), box));
}
