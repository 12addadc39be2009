/** The forecast as a line, its quantiles as a fan of bands, with recorded values before and during it. */
import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import type { ForecastOutput } from '../../../src/api/processing.ts';
import { axisTimes, timeText } from '../parts/chart-times.ts';
import { shownNumber, withUnit } from '../parts/number.ts';
import { axisRange, shownRange } from '../parts/shown-range.ts';
import { forecastWords } from '../strings/forecasts.ts';
import classes from './forecasts.module.css';
import { type LegendEntry, legendOf } from './quantile-legend.ts';

const words = forecastWords.result;
const heightPx = 320;
const axisWidthPx = 66;
/** Opacity of the widest band; each inner one adds as much. */
const bandAlpha = 0.16;
/** Margin above and below, relative to the range. */
const roomShare = 0.1;

/** Null without a recorded value. */
export interface RecordedValue {
  readonly timestamp: string;
  readonly value: number | null;
}

interface ChartParts {
  readonly output: ForecastOutput;
  /** Recorded values, one for each point. */
  readonly actuals?: readonly RecordedValue[] | undefined;
  /** Recorded values before the first point. */
  readonly before?: readonly RecordedValue[] | undefined;
  /** A text alternative for screen readers. */
  readonly label: string;
}

export function FanChart({ output, actuals, before, label }: ChartParts) {
  const place = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const { width } = element.getBoundingClientRect();
    const chart = new uPlot(
      optionsFor(output, actuals !== undefined, scheme === 'dark', width),
      dataOf(output, actuals, before ?? []),
      element,
    );
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) chart.setSize({ width: entry.contentRect.width, height: heightPx });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [output, actuals, before, scheme]);
  return <div ref={place} className={classes['chartPlace']} role="img" aria-label={label} />;
}

/** A range with round ends that contains all values. Values that differ only by rounding are a flat line. */
function roundRange(least: number | null, most: number | null): uPlot.Range.MinMax {
  const range = shownRange([least, most]);
  const own = axisRange([least, most]);
  if (range === null || range.low === range.high) return own;
  const [low, high] = uPlot.rangeNum(range.low, range.high, roomShare, true);
  return low !== null && high !== null && low <= range.low && high >= range.high && low < high ? [low, high] : own;
}

function probabilities(output: ForecastOutput): number[] {
  return output.points[0]?.quantiles?.map(({ probability }) => probability) ?? [];
}

/** Times in seconds, the value, then each quantile, then recorded values, which alone precede the forecast. */
function dataOf(
  output: ForecastOutput,
  actuals: ChartParts['actuals'],
  before: readonly RecordedValue[],
): uPlot.AlignedData {
  const { points } = output;
  const times = [...before, ...points].map(({ timestamp }) => Date.parse(timestamp) / 1000);
  const ahead = (values: readonly (number | null)[]): (number | null)[] => [...before.map(() => null), ...values];
  return [
    times,
    ahead(points.map(({ value }) => value)),
    ...probabilities(output).map((_, at) => ahead(points.map((point) => point.quantiles?.[at]?.value ?? null))),
    ...(actuals === undefined
      ? []
      : [[...before.map(({ value }) => value), ...points.map((_, place) => actuals[place]?.value ?? null)]]),
  ];
}

/** The row of a quantile: of a band, both ends. */
function legendTexts(
  entry: LegendEntry,
  at: number,
  output: ForecastOutput,
): Pick<uPlot.Series, 'label' | 'value' | 'class'> {
  const named = (place: number): string => words.quantile(shownNumber((probabilities(output)[place] ?? 0) * 100));
  if (entry === 'hidden') return { label: named(at), class: classes['inBand'] ?? '' };
  if (entry === 'alone') return { label: named(at), value: (_, raw) => withUnit(raw, output.unit) };
  const { upTo } = entry;
  return {
    label: words.band(named(at), named(upTo)),
    value: ({ data }, raw, _, index) =>
      raw === null || index === null
        ? shownNumber(null)
        : words.band(shownNumber(raw), withUnit(data[2 + upTo]?.[index], output.unit)),
  };
}

function optionsFor(output: ForecastOutput, withActuals: boolean, isDark: boolean, width: number): uPlot.Options {
  const line = isDark ? '#4ba9b8' : '#0b6f7b';
  const fill = isDark ? `rgba(75, 169, 184, ${bandAlpha})` : `rgba(11, 111, 123, ${bandAlpha})`;
  const happened = isDark ? '#e6b566' : '#8a5a00';
  const text = isDark ? '#a9b4bd' : '#4d5963';
  const grid = isDark ? '#2d373f' : '#dbe1e6';
  const shown = probabilities(output);
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  const value = (_: uPlot, raw: number | null): string => withUnit(raw, output.unit);
  return {
    width,
    height: heightPx,
    cursor: { drag: { x: true, y: false } },
    scales: { x: { time: true }, y: { range: (_, least, most) => roundRange(least, most) } },
    axes: [
      { ...axis, values: axisTimes },
      {
        ...axis,
        size: axisWidthPx,
        label: output.unit === '1' ? '' : output.unit,
        values: (_, ticks) => ticks.map((tick) => shownNumber(tick)),
      },
    ],
    series: [
      { label: words.time, value: (_, raw) => (raw === null ? '' : timeText(raw)) },
      { label: words.forecast, stroke: line, width: 2, points: { show: output.points.length < 2 }, value },
      ...legendOf(output.points).map((entry, at) => ({
        ...legendTexts(entry, at, output),
        stroke: fill,
        width: 1,
        points: { show: false },
      })),
      ...(withActuals ? [{ label: words.actual, stroke: happened, width: 2, spanGaps: false, value }] : []),
    ],
    // Outermost pair first; inner pairs are drawn over it.
    bands: Array.from({ length: Math.floor(shown.length / 2) }, (_, at) => ({
      series: [2 + shown.length - 1 - at, 2 + at] as [number, number],
      fill,
    })),
  };
}
