/** The trend of a point: a preset range or a zoomed span, the thresholds of its rules, and changes of their decisions. */
import { Button, SegmentedControl, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';
import { type TrendRange, trendRanges } from '../addresses.ts';
import { nowMs } from '../clock.ts';
import { Failure } from '../parts/failure.tsx';
import { later } from '../parts/later.tsx';
import { msOfLocal } from '../parts/local-time.ts';
import { fullTime } from '../parts/moment.tsx';
import { withUnit } from '../parts/number.ts';
import { outcomeOf } from '../rules/rule-words.ts';
import { pointWords } from '../strings/points.ts';
import { ComparedTrends } from './compared-trends.tsx';
import { InstantPanel } from './instant-panel.tsx';
import { type PointEntry, type PointRules, usePointRules, useTrend, useTrendSpan, useTurns } from './point-queries.ts';
import classes from './points.module.css';
import type { ChartLine, ChartMark } from './trend-chart.tsx';
import { spanOf, type TimeSpan } from './trend-span.ts';
import { useTrendView } from './trend-view.ts';

const words = pointWords.trend;
/** As high as a chart with its legend, so that what is below stays in its place. */
const TrendChart = later(async () => (await import('./trend-chart.tsx')).TrendChart, 330);

export function TrendPanel({ point }: { point: PointEntry }) {
  const view = useTrendView();
  const { range, chosen } = view;
  const [instant, setInstant] = useState<number | null>(null);
  const span = useTrendSpan(view);
  const trend = useTrend(point, span);
  const { data } = trend;
  const { rules, lines, isUnknown } = useRulesOf(point);
  const shown = useMemo(() => (data === undefined ? null : spanOf(data)), [data]);
  const turns = useTurns([...rules.keys()], shown).data;
  const marks = useMemo(() => (turns?.runs ?? []).map(markOf), [turns]);
  return (
    <section className={classes['panel']} aria-labelledby="trend">
      <TrendHead
        range={range}
        zoomed={chosen !== null}
        onRange={view.onRange}
        onZoomOut={() => view.onChoose(null)}
        onMove={shown === null ? null : (move) => view.onChoose(move(shown))}
      />
      {trend.isError && <Failure error={trend.error} />}
      {trend.isPending && <div className={classes['chart']} />}
      {data?.buckets.length === 0 && (
        <p className={classes['soft']}>
          {point.recorded || point.point_type === 'action' ? words.none : words.notRecorded}
        </p>
      )}
      {data !== undefined && data.buckets.length > 0 && (
        <>
          <TrendChart
            trend={data}
            steps={point.point_type === 'action'}
            lines={lines}
            marks={marks}
            label={words.chart(point.name, data.buckets.length, words.ranges[range])}
            onZoom={view.onChoose}
            onPick={setInstant}
          />
          {(rules.size > 0 || isUnknown) && (
            <MarksLine marks={marks.length} completeFrom={turns?.completeFrom ?? null} onInstant={setInstant} />
          )}
        </>
      )}
      <ComparedTrends point={point} view={view} span={span} />
      {instant !== null && rules.size > 0 && (
        <InstantPanel point={point} rules={rules} unix={instant} onClose={() => setInstant(null)} />
      )}
    </section>
  );
}

/** Half a span earlier, on whole seconds. */
function movedEarlier({ from, to }: TimeSpan): TimeSpan {
  const step = Math.ceil((to - from) / 2);
  return { from: from - step, to: to - step };
}

/** Half a span later, but not into the future. */
function movedLater({ from, to }: TimeSpan): TimeSpan {
  const wide = to - from;
  const end = Math.min(to + Math.ceil(wide / 2), Math.ceil(nowMs() / 1000));
  return { from: end - wide, to: end };
}

/** The newer half: zooming by keyboard. */
function newerHalf({ from, to }: TimeSpan): TimeSpan {
  return { from: Math.min(to - 1, Math.floor((from + to) / 2)), to };
}

interface HeadParts {
  readonly range: TrendRange;
  readonly zoomed: boolean;
  readonly onRange: (range: TrendRange) => void;
  readonly onZoomOut: () => void;
  /** Another span; null if it would be the same. */
  readonly onMove: ((move: (shown: TimeSpan) => TimeSpan) => void) | null;
}

function TrendHead({ range, zoomed, onRange, onZoomOut, onMove }: HeadParts) {
  return (
    <div className={classes['head']}>
      <h2 id="trend" className={classes['heading']}>
        {words.title}
      </h2>
      <SegmentedControl
        aria-label={words.range}
        size="xs"
        value={range}
        onChange={(value) => onRange(trendRanges.find((known) => known === value) ?? 'hour')}
        data={trendRanges.map((value) => ({ value, label: words.ranges[value] }))}
      />
      <Button.Group>
        <Button size="compact-sm" variant="default" disabled={onMove === null} onClick={() => onMove?.(movedEarlier)}>
          {words.earlier}
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          disabled={onMove === null || !zoomed}
          onClick={() => onMove?.(movedLater)}
        >
          {words.later}
        </Button>
        <Button size="compact-sm" variant="default" disabled={onMove === null} onClick={() => onMove?.(newerHalf)}>
          {words.closer}
        </Button>
      </Button.Group>
      {zoomed && (
        <Button size="compact-sm" variant="default" onClick={onZoomOut}>
          {words.zoomOut}
        </Button>
      )}
    </div>
  );
}

interface MarksParts {
  readonly marks: number;
  readonly completeFrom: string | null;
  readonly onInstant: (unix: number | null) => void;
}

/** The number of marked decisions and their start, and the instant as a field. */
function MarksLine({ marks, completeFrom, onInstant }: MarksParts) {
  return (
    <div className={classes['row']}>
      <p className={classes['soft']} data-testid="marks">
        {marks > 0 && words.marks(marks)} {completeFrom !== null && words.marksFrom(fullTime(completeFrom))}{' '}
        {words.pick}
      </p>
      <TextInput
        type="datetime-local"
        step={1}
        size="xs"
        label={words.instant}
        onChange={(event) => onInstant(unixOf(event.currentTarget.value))}
      />
    </div>
  );
}

interface RulesOfPoint {
  readonly rules: ReadonlyMap<number, string>;
  readonly lines: readonly ChartLine[];
  /** Not read yet: most points have some. */
  readonly isUnknown: boolean;
}

/** The rules that read or write the point by name, and their thresholds as lines. */
function useRulesOf(point: PointEntry): RulesOfPoint {
  const { data, isPending } = usePointRules(point);
  return useMemo(() => {
    const { readers = [], writers = [] } = data ?? {};
    return {
      rules: new Map([...readers, ...writers].map(({ rule_id: id, name }) => [id, name])),
      lines: linesOf(readers, point.unit),
      isUnknown: isPending,
    };
  }, [data, isPending, point.unit]);
}

/** One line per value, whatever the number of rules with it. */
function linesOf(readers: PointRules['readers'], unit: string): ChartLine[] {
  const labels = new Map<number, Set<string>>();
  for (const { name, enabled, thresholds } of readers) {
    if (!enabled) continue;
    for (const { operator, value } of thresholds) {
      const own = labels.get(value) ?? new Set<string>();
      labels.set(value, own.add(words.threshold(name, operator, withUnit(value, unit))));
    }
  }
  return [...labels].map(([value, texts]) => ({ value, label: [...texts].join('; ') }));
}

function markOf({ started_at: at, outcome }: { readonly started_at: string; readonly outcome: string }): ChartMark {
  return {
    unix: Date.parse(at) / 1000,
    isTrouble: outcomeOf(outcome).tone !== 'good' && outcomeOf(outcome).tone !== 'calm',
  };
}

/** From a local time; null while it is incomplete. */
function unixOf(local: string): number | null {
  const ms = msOfLocal(local);
  return ms === null ? null : ms / 1000;
}
