/** The last 24 hours of the compared point, with a threshold that can be dragged. */
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type PointerEvent, useRef, useState } from 'react';
import type { PointRef } from '../../../src/site/catalogue.ts';
import { meanPath } from '../parts/mean-path.ts';
import { withUnit } from '../parts/number.ts';
import type { ShownRange } from '../parts/shown-range.ts';
import { conditionWords as words } from '../strings/condition.ts';
import classes from './threshold-chart.module.css';
import { shownBand, valueAtShare } from './threshold-place.ts';

const daySeconds = 86_400;
const buckets = 240;
const box = { width: 320, height: 96 };

interface ChartParts {
  readonly point: PointRef;
  readonly unit: string;
  /** Null when the value is empty or a name. */
  readonly threshold: number | null;
  readonly onThreshold: (value: number) => void;
}

export function ThresholdChart({ point, unit, threshold, onThreshold }: ChartParts) {
  const series = useQuery({
    queryKey: ['threshold-series', point],
    staleTime: 60_000,
    queryFn: async () => {
      const { fetchTrend, spanUpToNow } = await import('../points/point-queries.ts');
      return fetchTrend(point, spanUpToNow(daySeconds), buckets);
    },
  }).data;
  const frame = useRef<SVGSVGElement>(null);
  /** The scale does not change during a drag. */
  const [held, setHeld] = useState<ShownRange | null>(null);
  if (series === undefined || series.buckets.length === 0)
    return series === undefined ? null : <Text size="sm">{words.noHistory}</Text>;
  const band = held ?? shownBand(series.buckets, threshold);
  const yOf = (value: number): number => box.height * (1 - (value - band.low) / (band.high - band.low));
  const drag = (event: PointerEvent<SVGSVGElement>): void => {
    const place = frame.current?.getBoundingClientRect();
    if (place === undefined || event.buttons !== 1) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    onThreshold(valueAtShare(1 - (event.clientY - place.top) / place.height, band));
  };
  return (
    <svg
      ref={frame}
      className={classes['chart']}
      viewBox={`0 0 ${box.width} ${box.height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={words.chart(threshold === null ? words.noThreshold : withUnit(threshold, unit))}
      data-testid="threshold-chart"
      onPointerDown={(event) => {
        setHeld(band);
        drag(event);
      }}
      onPointerUp={() => setHeld(null)}
      onPointerCancel={() => setHeld(null)}
      onPointerMove={drag}
    >
      <path d={meanPath(series, box.width, yOf)} className={classes['series']} vectorEffect="non-scaling-stroke" />
      {threshold !== null && (
        <line
          x1={0}
          x2={box.width}
          y1={yOf(threshold)}
          y2={yOf(threshold)}
          className={classes['threshold']}
          vectorEffect="non-scaling-stroke"
        />
      )}
    </svg>
  );
}
