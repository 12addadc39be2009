/** All points with their values now: what is measured, what is commanded, and what is not good. */
import { SegmentedControl, Skeleton, TextInput, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef, useState } from 'react';
import { useLivePoint, useWatchPoints } from '../live/stream.ts';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import { withUnit } from '../parts/number.ts';
import page from '../parts/page.module.css';
import table from '../parts/table.module.css';
import { Tag } from '../parts/tag.tsx';
import { SearchIcon } from '../shell/icons.tsx';
import { t } from '../strings/index.ts';
import { pointWords } from '../strings/points.ts';
import { type PointEntry, usePoints } from './point-queries.ts';
import {
  isGood,
  keyOf,
  ownerText,
  ownerTone,
  pointFilters,
  qualityTone,
  shownPoints,
  type TableFilter,
} from './point-words.ts';
import classes from './points.module.css';
import { Sparkline } from './sparkline.tsx';

const words = pointWords;
/** Until a row is measured. */
const rowPx = 59;
const overscanRows = 8;
const watchedRows = 50;

export function PointsPage() {
  const points = usePoints();
  const [search, setSearch] = useState('');
  const [filter, setFilter] = useState<TableFilter>('all');
  const all = points.data ?? [];
  const shown = shownPoints(all, search, filter);
  return (
    <div className={page['page']}>
      <div className={classes['top']}>
        <Title order={1} size="h2">
          {words.title}
        </Title>
        <p className={classes['soft']} role="status">
          {words.shown(shown.length, all.length)}
        </p>
      </div>
      <div className={classes['tools']}>
        <TextInput
          className={classes['search'] ?? ''}
          aria-label={words.search}
          placeholder={words.searchHint}
          leftSection={<SearchIcon size={16} />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <SegmentedControl
          aria-label={words.filterLabel}
          value={filter}
          onChange={(value) => setFilter(pointFilters.find((known) => known === value) ?? 'all')}
          data={pointFilters.map((value) => ({ value, label: words.filter[value] }))}
          size="sm"
        />
      </div>
      {points.isError && points.data === undefined && (
        <Failure error={points.error} onRetry={() => void points.refetch()} />
      )}
      {points.isPending && <Skeleton height={260} radius="md" aria-label={t.common.loading} />}
      {points.data !== undefined && (shown.length === 0 ? <p>{words.none}</p> : <PointTable points={shown} />)}
    </div>
  );
}

/** Only rows near the screen are drawn and watched: a site may have thousands of points. */
function PointTable({ points }: { points: readonly PointEntry[] }) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [offset, setOffset] = useState(0);
  useLayoutEffect(() => {
    const top = body.current?.getBoundingClientRect().top;
    if (top !== undefined) setOffset(top + window.scrollY);
  }, []);
  const rows = useWindowVirtualizer({
    count: points.length,
    estimateSize: () => rowPx,
    overscan: overscanRows,
    scrollMargin: offset,
  });
  const items = rows.getVirtualItems();
  const [first, last] = [items[0], items.at(-1)];
  useWatchPoints(points.slice(...blockOf(first?.index ?? 0, last?.index ?? 0)).map(keyOf));
  return (
    <table className={table['table']} aria-label={words.title} aria-rowcount={points.length + 1}>
      <thead>
        <tr>
          <th scope="col">{words.columns.point}</th>
          <th scope="col" className={classes['number']}>
            {words.columns.value}
          </th>
          <th scope="col">{words.columns.day}</th>
          <th scope="col">{words.columns.quality}</th>
          <th scope="col">{words.columns.owner}</th>
          <th scope="col">{words.columns.command}</th>
        </tr>
      </thead>
      <tbody ref={body}>
        <Filler px={(first?.start ?? offset) - offset} />
        {items.map(({ index }) => {
          const point = points[index];
          return (
            point !== undefined && (
              <PointRow key={keyOf(point)} point={point} index={index} measure={rows.measureElement} />
            )
          );
        })}
        <Filler px={rows.getTotalSize() + offset - (last?.end ?? offset)} />
      </tbody>
    </table>
  );
}

/** The room of rows that are not drawn. */
function Filler({ px }: { px: number }) {
  return px > 0 && <tr aria-hidden style={{ height: px }} />;
}

/** Whole blocks of rows around these, so that a row more in view asks for nothing new. */
function blockOf(first: number, last: number): [number, number] {
  return [Math.floor(first / watchedRows) * watchedRows, (Math.floor(last / watchedRows) + 1) * watchedRows];
}

interface RowParts {
  readonly point: PointEntry;
  readonly index: number;
  readonly measure: (row: HTMLTableRowElement | null) => void;
}

function PointRow({ point, index, measure }: RowParts) {
  const now = useLivePoint(point);
  const { owner, last_command: command, last_error: error } = point;
  return (
    <tr ref={measure} data-index={index} data-point={keyOf(point)} aria-rowindex={index + 2}>
      <td>
        <PointLink point={point} />
        <div className={classes['soft']}>{keyOf(point)}</div>
      </td>
      <td className={classes['number']}>{point.text ?? withUnit(now.value, point.unit)}</td>
      <td>
        <Sparkline point={point} />
      </td>
      <td>
        <Tag tone={qualityTone(now)}>{words.quality[now.quality]}</Tag>
        {!isGood(now) && error !== null && <div className={classes['soft']}>{error.message}</div>}
      </td>
      <td>{owner !== null && <Tag tone={ownerTone(owner)}>{ownerText(owner)}</Tag>}</td>
      <td>
        {command !== null && (
          <>
            {words.command(withUnit(command.written, point.unit), words.result[command.result] ?? command.result)}
            <div className={classes['soft']}>
              <Moment at={command.at} />
            </div>
          </>
        )}
      </td>
    </tr>
  );
}

export function PointLink({ point, label }: { point: PointEntry; label?: string }) {
  return (
    <Link to="/points/$pointKey" params={{ pointKey: keyOf(point) }} className={classes['name'] ?? ''}>
      {label ?? `${point.instance_name} ${point.name}`}
    </Link>
  );
}
