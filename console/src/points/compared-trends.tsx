/** Trends of other points below that of the page: the same time, one cursor; and all of them as a file. */
import { Button, Select } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Failure } from '../parts/failure.tsx';
import { saveText } from '../parts/file-save.ts';
import { later } from '../parts/later.tsx';
import { longOptions } from '../parts/long-options.ts';
import { pointWords } from '../strings/points.ts';
import { fetchTrend, type PointEntry, trendBuckets, usePoints, useTrend } from './point-queries.ts';
import { keyOf } from './point-words.ts';
import classes from './points.module.css';
import type { ChartLine, ChartMark } from './trend-chart.tsx';
import type { TimeSpan } from './trend-span.ts';
import { trendTable } from './trend-table.ts';
import type { TrendView } from './trend-view.ts';

const words = pointWords.trend;
const TrendChart = later(async () => (await import('./trend-chart.tsx')).TrendChart);
/** Points beside that of the page: more charts are not seen at once. */
const comparedMax = 5;
const noLines: readonly ChartLine[] = [];
const noMarks: readonly ChartMark[] = [];

const nameOf = ({ instance_name: instance, name }: PointEntry): string => `${instance} ${name}`;
const headingOf = (point: PointEntry): string =>
  point.unit === '1' ? nameOf(point) : `${nameOf(point)}, ${point.unit}`;
const hasTrend = ({ recorded, point_type: kind }: PointEntry): boolean => recorded || kind === 'action';

interface Compared {
  readonly point: PointEntry;
  readonly view: TrendView;
  /** Of all trends of the page. */
  readonly span: TimeSpan | null;
}

export function ComparedTrends({ point, view, span }: Compared) {
  const all = usePoints().data ?? [];
  const beside = view.beside.slice(0, comparedMax);
  const found = new Map(all.map((each) => [keyOf(each), each]));
  const compared = beside.flatMap((key) => found.get(key) ?? []);
  const remove = (key: string): void => view.onCompare(view.beside.filter((each) => each !== key));
  const [search, setSearch] = useState('');
  return (
    <>
      {beside.map((key) => (
        <ComparedTrend
          key={key}
          pointKey={key}
          point={found.get(key)}
          view={view}
          span={span}
          onRemove={() => remove(key)}
        />
      ))}
      <div className={classes['row']}>
        <Select
          aria-label={words.compare}
          placeholder={view.beside.length < comparedMax ? words.compare : words.compareFull(comparedMax)}
          disabled={view.beside.length >= comparedMax}
          data={all
            .filter((each) => hasTrend(each) && keyOf(each) !== keyOf(point) && !view.beside.includes(keyOf(each)))
            .map((each) => ({ value: keyOf(each), label: nameOf(each) }))}
          filter={longOptions}
          value={null}
          onChange={(key) => {
            if (key !== null) view.onCompare([...view.beside, key]);
            setSearch('');
          }}
          searchable
          searchValue={search}
          onSearchChange={setSearch}
          nothingFoundMessage={words.compareNone}
          maxDropdownHeight={320}
          size="xs"
          w={260}
        />
        <SaveTable points={[point, ...compared]} span={span} />
      </div>
    </>
  );
}

interface ComparedParts {
  readonly pointKey: string;
  readonly point: PointEntry | undefined;
  readonly view: TrendView;
  readonly span: TimeSpan | null;
  readonly onRemove: () => void;
}

function ComparedTrend({ pointKey, point, view, span, onRemove }: ComparedParts) {
  return (
    <div data-testid="compared">
      <div className={classes['head']}>
        <h3 className={classes['subheading']}>{point === undefined ? words.unknown(pointKey) : headingOf(point)}</h3>
        <Button size="compact-xs" variant="default" onClick={onRemove}>
          {words.remove}
        </Button>
      </div>
      {point !== undefined && <TrendOf point={point} view={view} span={span} />}
    </div>
  );
}

function TrendOf({ point, view, span }: { point: PointEntry; view: TrendView; span: TimeSpan | null }) {
  const { data, isError, error } = useTrend(point, span);
  return (
    <>
      {isError && <Failure error={error} />}
      {data?.buckets.length === 0 && <p className={classes['soft']}>{words.none}</p>}
      {data !== undefined && data.buckets.length > 0 && (
        <TrendChart
          trend={data}
          steps={point.point_type === 'action'}
          lines={noLines}
          marks={noMarks}
          label={words.chart(nameOf(point), data.buckets.length, words.ranges[view.range])}
          isSmall
          onZoom={view.onChoose}
        />
      )}
    </>
  );
}

interface SaveParts {
  readonly points: readonly PointEntry[];
  readonly span: TimeSpan | null;
}

/** All trends of the drawn span as one table. */
function SaveTable({ points, span }: SaveParts) {
  const save = useMutation({
    mutationFn: async (wanted: TimeSpan) => {
      const trends = await Promise.all(points.map((point) => fetchTrend(point, wanted, trendBuckets)));
      const table = trendTable(trends.map((trend, at) => ({ name: nameOf(points[at] as PointEntry), trend })));
      saveText(`trend-${new Date(wanted.from * 1000).toISOString().replaceAll(':', '-')}.csv`, table, 'text/csv');
    },
  });
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        disabled={span === null}
        loading={save.isPending}
        onClick={() => span !== null && save.mutate(span)}
      >
        {words.save}
      </Button>
      {save.isError && <Failure error={save.error} />}
    </>
  );
}
