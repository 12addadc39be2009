/** The trend of a point: the mean as a line in the band from the lowest to the highest value. Drag to zoom in. */
import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { axisTimes, timeText } from '../parts/chart-times.ts';
import { shownNumber, withUnit } from '../parts/number.ts';
import { pointWords } from '../strings/points.ts';
import type { TimeSpan, TrendView } from './point-queries.ts';
import classes from './points.module.css';

const words = pointWords.trend;
const heightPx = 300;
const axisWidthPx = 66;
/** A selection of fewer pixels is a click. */
const dragPxMin = 5;

interface ChartParts {
  readonly trend: TrendView;
  /** A command stands until the next one: steps instead of slopes. */
  readonly steps: boolean;
  readonly label: string;
  readonly onZoom: (span: TimeSpan) => void;
}

export default function TrendChart({ trend, steps, label, onZoom }: ChartParts) {
  const place = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const { width } = element.getBoundingClientRect();
    const chart = new uPlot(optionsFor(trend, steps, scheme === 'dark', width, onZoom), dataOf(trend), element);
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) chart.setSize({ width: entry.contentRect.width, height: heightPx });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [trend, steps, scheme, onZoom]);
  return <div ref={place} className={classes['chart']} role="img" aria-label={label} />;
}

/** Of the usual distance between two values, how much breaks the line. */
const gapFactor = 3;

/** Times in seconds, mean, highest, lowest. A gap in what was recorded breaks the line. */
function dataOf({ buckets, bucket_seconds: seconds }: TrendView): uPlot.AlignedData {
  const columns: [number[], (number | null)[], (number | null)[], (number | null)[]] = [[], [], [], []];
  const times = buckets.map(({ t: at }) => Date.parse(at) / 1000);
  const distances = times.slice(1).map((at, index) => at - (times[index] ?? at));
  const usual = distances.toSorted((a, b) => a - b)[Math.floor(distances.length / 2)] ?? seconds;
  let before: number | undefined;
  for (const [index, { mean, max, min }] of buckets.entries()) {
    const unix = times[index] ?? 0;
    if (before !== undefined && unix - before > gapFactor * usual) add(columns, before + usual, null, null, null);
    add(columns, unix, mean, max, min);
    before = unix;
  }
  return columns;
}

function add(
  [times, ...values]: [number[], (number | null)[], (number | null)[], (number | null)[]],
  at: number,
  ...row: readonly [number | null, number | null, number | null]
): void {
  times.push(at);
  values.forEach((column, index) => column.push(row[index] ?? null));
}

function optionsFor(
  trend: TrendView,
  steps: boolean,
  isDark: boolean,
  width: number,
  onZoom: ChartParts['onZoom'],
): uPlot.Options {
  const line = isDark ? '#4ba9b8' : '#0b6f7b';
  const fill = isDark ? 'rgba(75, 169, 184, 0.22)' : 'rgba(11, 111, 123, 0.18)';
  const text = isDark ? '#a9b4bd' : '#4d5963';
  const grid = isDark ? '#2d373f' : '#dbe1e6';
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  const value = (_: uPlot, raw: number | null): string => withUnit(raw, trend.unit);
  const paths = steps ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  const drawn = { points: { show: trend.buckets.length < 2 }, value, ...(paths === undefined ? {} : { paths }) };
  return {
    width,
    height: heightPx,
    cursor: { drag: { x: true, y: false, setScale: false } },
    scales: { x: { time: true } },
    axes: [
      { ...axis, values: axisTimes },
      { ...axis, size: axisWidthPx, values: (_, ticks) => ticks.map((tick) => shownNumber(tick)) },
    ],
    series: [
      { label: words.time, value: (_, raw) => (raw === null ? '' : timeText(raw)) },
      { label: words.mean, stroke: line, width: 2, ...drawn },
      { label: words.max, stroke: fill, width: 1, ...drawn },
      { label: words.min, stroke: fill, width: 1, ...drawn },
    ],
    bands: [{ series: [2, 3], fill }],
    hooks: {
      setSelect: [
        (chart) => {
          const { left, width: wide } = chart.select;
          if (wide < dragPxMin) return;
          const [from, to] = [left, left + wide].map((pixel) => Math.round(chart.posToVal(pixel, 'x')));
          if (from !== undefined && to !== undefined && to > from) onZoom({ from, to });
        },
      ],
    },
  };
}
