/**
 * The trend of a point: the mean as a line in the band from the lowest to the highest value, thresholds as lines, and marks where
 * a decision changed. Drag to zoom in, click to select an instant.
 */
import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { axisTimes, timeText } from '../parts/chart-times.ts';
import { shownNumber, withUnit } from '../parts/number.ts';
import { axisRange } from '../parts/shown-range.ts';
import { gapsAfter, lonely } from '../parts/trend-gaps.ts';
import { pointWords } from '../strings/points.ts';
import type { PointTrend } from './point-queries.ts';
import classes from './points.module.css';
import { readRow } from './trend-reading.ts';
import { spanOf, type TimeSpan } from './trend-span.ts';

const words = pointWords.trend;
const heightPx = 300;
const smallHeightPx = 150;
const axisWidthPx = 66;
/** Half of a time label, for the last one. */
const lastTimePx = 28;
/** A selection of fewer pixels is a click. */
const dragPxMin = 5;
/** How far from the end of a line its value is still read. */
const reachPx = 6;

/** A threshold across the chart. */
export interface ChartLine {
  readonly value: number;
  readonly label: string;
}

/** An instant at the lower edge. */
export interface ChartMark {
  /** Seconds since the epoch. */
  readonly unix: number;
  readonly isTrouble: boolean;
}

interface ChartParts {
  readonly trend: PointTrend;
  /** A command is valid until the next one: drawn as steps. */
  readonly steps: boolean;
  readonly lines: readonly ChartLine[];
  readonly marks: readonly ChartMark[];
  readonly label: string;
  /** Below another one. */
  readonly isSmall?: boolean;
  readonly onZoom: (span: TimeSpan) => void;
  readonly onPick?: (unix: number) => void;
}

export function TrendChart({ label, isSmall = false, ...parts }: ChartParts) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  // The drawn data and the click handler, for a chart instance that outlives them.
  const latest = useRef(parts);
  const scheme = useComputedColorScheme('light');
  const { trend, steps, lines, marks } = parts;
  useEffect(() => {
    latest.current = parts;
  });
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const { width } = element.getBoundingClientRect();
    const height = isSmall ? smallHeightPx : heightPx;
    const made = new uPlot(
      optionsFor({ parts: () => latest.current, steps, isDark: scheme === 'dark', width, height }),
      dataOf(latest.current.trend),
      element,
    );
    chart.current = made;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) made.setSize({ width: entry.contentRect.width, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [steps, scheme, isSmall]);
  // New values, thresholds or marks update the existing chart, at a fraction of the cost of a new one.
  useEffect(() => {
    chart.current?.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    chart.current?.setData(dataOf(trend));
  }, [trend, lines, marks]);
  return <div ref={place} className={classes[isSmall ? 'smallChart' : 'chart']} role="img" aria-label={label} />;
}

/** Times in seconds, mean, highest, lowest. A gap in the record breaks the line. */
function dataOf({ buckets }: PointTrend): uPlot.AlignedData {
  const columns: [number[], (number | null)[], (number | null)[], (number | null)[]] = [[], [], [], []];
  const timed = buckets.map((bucket) => ({ ...bucket, unix: Date.parse(bucket.t) / 1000 }));
  const gaps = gapsAfter(timed);
  for (const [at, { unix, mean, max, min }] of timed.entries()) {
    add(columns, unix, mean, max, min);
    const gap = gaps[at] ?? null;
    if (gap !== null) add(columns, unix + gap, null, null, null);
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

function rangeOf(trend: PointTrend): uPlot.Range.MinMax {
  const { from, to } = spanOf(trend);
  return [from, to];
}

interface Drawn {
  readonly parts: () => Omit<ChartParts, 'label' | 'isSmall'>;
  readonly steps: boolean;
  readonly isDark: boolean;
  readonly width: number;
  readonly height: number;
}

/** The charts of a page have one cursor. A drag is that of its own chart: repeated by the others, it would zoom once for each. */
const oneCursor: uPlot.Cursor.Sync = {
  key: 'trends',
  filters: { pub: (event) => event === 'mousemove' || event === 'mouseleave' },
};

function optionsFor(drawn: Drawn): uPlot.Options {
  const { parts, steps, isDark, width, height } = drawn;
  const line = isDark ? '#4ba9b8' : '#0b6f7b';
  const fill = isDark ? 'rgba(75, 169, 184, 0.22)' : 'rgba(11, 111, 123, 0.18)';
  const text = isDark ? '#a9b4bd' : '#4d5963';
  const grid = isDark ? '#2d373f' : '#dbe1e6';
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  const value = (_: uPlot, raw: number | null): string => withUnit(raw, parts().trend.unit);
  const paths = steps ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  const shape = {
    points: { show: true, filter: ({ data }: uPlot, series: number) => lonely(data[series] ?? []) },
    value,
    ...(paths === undefined ? {} : { paths }),
  };
  return {
    width,
    height,
    padding: [null, lastTimePx, null, null],
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false },
      sync: oneCursor,
      dataIdx: ({ data, posToVal }, series, _, at) =>
        readRow(data[series] ?? [], data[0], at, steps, posToVal(reachPx, 'x') - posToVal(0, 'x')),
    },
    scales: {
      // The whole span, so that a time without values is visible.
      x: { time: true, range: () => rangeOf(parts().trend) },
      y: { range: (_, least, most) => axisRange([least, most, ...parts().lines.map(({ value: at }) => at)]) },
    },
    axes: [
      { ...axis, values: axisTimes },
      { ...axis, size: axisWidthPx, values: (_, ticks) => ticks.map((tick) => shownNumber(tick)) },
    ],
    series: [
      {
        label: words.time,
        value: ({ cursor: { left = -1 }, posToVal }) => (left < 0 ? '' : timeText(posToVal(left, 'x'))),
      },
      { label: words.mean, stroke: line, width: 2, ...shape },
      { label: words.max, stroke: fill, width: 1, ...shape },
      { label: words.min, stroke: fill, width: 1, ...shape },
    ],
    bands: [{ series: [2, 3], fill }],
    hooks: {
      draw: [
        (chart) => {
          drawLines(chart, parts().lines, text);
          drawMarks(chart, parts().marks, text, isDark);
        },
      ],
      ready: [(chart) => chart.over.addEventListener('click', (event) => pickAt(chart, event, parts().onPick))],
      // The legend has the time at the cursor, also where no value is near.
      setCursor: [(chart) => chart.setLegend({}, false)],
      setSelect: [
        (chart) => {
          const { left, width: wide } = chart.select;
          if (wide < dragPxMin) return;
          const [from, to] = [left, left + wide].map((pixel) => Math.round(chart.posToVal(pixel, 'x')));
          if (from !== undefined && to !== undefined && to > from) parts().onZoom({ from, to });
        },
      ],
    },
  };
}

/** The click at the end of a drag selects nothing. */
function pickAt(chart: uPlot, event: MouseEvent, onPick: ChartParts['onPick']): void {
  if (chart.select.width >= dragPxMin) return;
  onPick?.(chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, 'x'));
}

const lineTextPx = 11;
const dash = [5, 4];

function drawLines({ ctx, bbox, valToPos }: uPlot, lines: readonly ChartLine[], color: string): void {
  ctx.save();
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  ctx.font = `${lineTextPx * devicePixelRatio}px system-ui, sans-serif`;
  ctx.setLineDash(dash.map((each) => each * devicePixelRatio));
  for (const { value, label } of lines) {
    const y = Math.round(valToPos(value, 'y', true)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.fillText(label, bbox.left + 4, y - 4, bbox.width);
  }
  ctx.restore();
}

const markPx = 5;

/** Triangles at the lower edge: filled if a run failed or was skipped. */
function drawMarks({ ctx, bbox, valToPos }: uPlot, marks: readonly ChartMark[], color: string, isDark: boolean): void {
  const size = markPx * devicePixelRatio;
  const bottom = bbox.top + bbox.height;
  ctx.save();
  for (const { unix, isTrouble } of marks) {
    const x = valToPos(unix, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bottom - 2 * size);
    ctx.lineTo(x + size, bottom);
    ctx.lineTo(x - size, bottom);
    ctx.closePath();
    ctx.strokeStyle = isTrouble ? troubleColor(isDark) : color;
    ctx.fillStyle = troubleColor(isDark);
    if (isTrouble) ctx.fill();
    ctx.stroke();
  }
  ctx.restore();
}

function troubleColor(isDark: boolean): string {
  return isDark ? '#e6b566' : '#8a5a00';
}
