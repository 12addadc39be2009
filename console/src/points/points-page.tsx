/** All points with their values now: measurements, commands, and problems. */
import { SegmentedControl, Skeleton, TextInput } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { type PointsShown, pointFilters } from '../addresses.ts';
import { useLivePoint, useWatchPoints } from '../live/stream.ts';
import { Failure } from '../parts/failure.tsx';
import { Filler, type RowPlace, useLongRows } from '../parts/long-rows.tsx';
import { Moment } from '../parts/moment.tsx';
import { withUnit } from '../parts/number.ts';
import page from '../parts/page.module.css';
import { PageHeading } from '../parts/page-heading.tsx';
import table from '../parts/table.module.css';
import { Tag } from '../parts/tag.tsx';
import { SearchIcon } from '../shell/icons.tsx';
import { t } from '../strings/index.ts';
import { pointWords } from '../strings/points.ts';
import { type PointEntry, usePoints } from './point-queries.ts';
import { isGood, keyOf, ownerText, ownerTone, qualityTone, shownPoints } from './point-words.ts';
import classes from './points.module.css';
import { Sparkline } from './sparkline.tsx';

const words = pointWords;
/** Until a row is measured. */
const rowPx = 59;

export function PointsPage() {
  const points = usePoints();
  const [search, setSearch] = useState('');
  const { filter = 'all' } = useSearch({ from: '/points' });
  const navigate = useNavigate();
  const all = points.data ?? [];
  const shown = shownPoints(all, search, filter);
  return (
    <div className={page['page']}>
      <div className={classes['top']}>
        <PageHeading>{words.title}</PageHeading>
        <p className={classes['soft']} role="status">
          {points.data !== undefined && words.shown(shown.length, all.length)}
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
          onChange={(value) => void navigate({ to: '/points', search: searchOf(value), replace: true })}
          data={pointFilters.map((value) => ({ value, label: words.filter[value] }))}
          size="sm"
        />
      </div>
      {points.isError && points.data === undefined && (
        <Failure error={points.error} onRetry={() => void points.refetch()} />
      )}
      {points.isPending && <Skeleton height={260} radius="md" aria-label={t.common.loading} />}
      {all.length > 0 && (shown.length === 0 ? <p>{words.none}</p> : <PointTable points={shown} />)}
      {points.data?.length === 0 && (
        <p>
          {words.noPoints} <Link to="/devices">{t.common.pages.devices}</Link>
        </p>
      )}
    </div>
  );
}

function searchOf(value: string): { readonly filter?: PointsShown } {
  const filter = pointFilters.find((known) => known === value);
  return filter === undefined || filter === 'all' ? {} : { filter };
}

/** Only rows near the screen are drawn and subscribed: a site may have thousands of points. */
function PointTable({ points }: { points: readonly PointEntry[] }) {
  const { body, drawn, near, before, after } = useLongRows({ items: points, keyOf, rowPx });
  useWatchPoints(near.map(keyOf));
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
        <Filler px={before} />
        {drawn.map(({ item, place }) => (
          <PointRow key={keyOf(item)} point={item} place={place} />
        ))}
        <Filler px={after} />
      </tbody>
    </table>
  );
}

function PointRow({ point, place }: { point: PointEntry; place: RowPlace }) {
  const now = useLivePoint(point);
  const { owner, last_command: command, last_error: error } = point;
  return (
    <tr {...place} data-point={keyOf(point)}>
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
      <td>
        {owner !== null && (
          <Tag tone={ownerTone(owner)} long={owner.kind !== 'none'}>
            {ownerText(owner)}
          </Tag>
        )}
      </td>
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
