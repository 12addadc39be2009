/** The alarms page: open and shelved alarms, and the changes of the last day. */
import { Button, SegmentedControl, Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useLivePoint, useWatchPoints } from '../live/stream.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { Filler, type RowPlace, useLongRows } from '../parts/long-rows.tsx';
import { Ahead, Moment } from '../parts/moment.tsx';
import { withUnit } from '../parts/number.ts';
import page from '../parts/page.module.css';
import { PageHeading } from '../parts/page-heading.tsx';
import table from '../parts/table.module.css';
import { Tag } from '../parts/tag.tsx';
import { type PointEntry, usePoints } from '../points/point-queries.ts';
import { keyOf } from '../points/point-words.ts';
import classes from '../points/points.module.css';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { alarmWords } from '../strings/alarms.ts';
import { t } from '../strings/index.ts';
import { pointWords } from '../strings/points.ts';
import { AcknowledgeAll } from './acknowledge-all.tsx';
import { useAlarms } from './alarm-list.ts';
import { useAcknowledge, useAlarmHistory, useUnshelve } from './alarm-queries.ts';
import {
  type AlarmFilter,
  type AlarmView,
  alarmFilters,
  conditionHolds,
  isWaiting,
  shownAlarms,
  stateTone,
} from './alarm-words.ts';
import { ShelveDialog } from './shelve-dialog.tsx';

const words = alarmWords;
/** Changes shown; the command line and the API have all. */
const changesShown = 200;
/** Until a row is measured. */
const rowPx = 61;

export function AlarmsPage() {
  const alarms = useAlarms();
  const [filter, setFilter] = useState<AlarmFilter>('open');
  const all = alarms.data ?? [];
  const shown = shownAlarms(all, filter);
  const waiting = shown.filter(isWaiting);
  const may = useMayOperate();
  return (
    <div className={page['page']}>
      <div className={classes['top']}>
        <PageHeading>{words.title}</PageHeading>
        <p className={classes['soft']} role="status">
          {alarms.data !== undefined && words.shown(all.filter(conditionHolds).length, all.filter(isWaiting).length)}
        </p>
      </div>
      <div className={classes['tools']}>
        <SegmentedControl
          aria-label={words.filterLabel}
          value={filter}
          onChange={(value) => setFilter(alarmFilters.find((known) => known === value) ?? 'open')}
          data={alarmFilters.map((value) => ({ value, label: words.filter[value] }))}
          size="sm"
        />
        {may && waiting.length > 1 && <AcknowledgeAll alarms={waiting} />}
      </div>
      {alarms.isError && <Failure error={alarms.error} onRetry={() => void alarms.refetch()} />}
      {alarms.isPending && <Skeleton height={200} radius="md" aria-label={t.common.loading} />}
      {alarms.data !== undefined && (shown.length === 0 ? <p>{words.none[filter]}</p> : <AlarmTable alarms={shown} />)}
      <AlarmChanges names={new Map(all.map(({ id, name }) => [id, name]))} />
    </div>
  );
}

function useMayOperate(): boolean {
  const session = useSession();
  return session.status !== 'out' && mayManage(session.facts.role);
}

function AlarmTable({ alarms }: { alarms: readonly AlarmView[] }) {
  const may = useMayOperate();
  const [shelved, setShelved] = useState<AlarmView | null>(null);
  const { body, drawn, near, before, after } = useLongRows({ items: alarms, keyOf: ({ id }) => id, rowPx });
  const points = new Map(usePoints().data?.map((point) => [keyOf(point), point]));
  const pointOf = ({ point }: AlarmView) => (point === null ? undefined : points.get(keyOf(point)));
  useWatchPoints([...new Set(near.flatMap(({ point }) => (point === null ? [] : [keyOf(point)])))]);
  return (
    <>
      <table className={table['table']} aria-label={words.title} aria-rowcount={alarms.length + 1}>
        <thead>
          <tr>
            <th scope="col">{words.columns.alarm}</th>
            <th scope="col">{words.columns.priority}</th>
            <th scope="col">{words.columns.state}</th>
            <th scope="col">{words.columns.raised}</th>
            {may && <th scope="col">{words.columns.actions}</th>}
          </tr>
        </thead>
        <tbody ref={body}>
          <Filler px={before} />
          {drawn.map(({ item, place }) => (
            <AlarmRow
              key={item.id}
              alarm={item}
              point={pointOf(item)}
              place={place}
              onShelve={may ? () => setShelved(item) : null}
            />
          ))}
          <Filler px={after} />
        </tbody>
      </table>
      {shelved !== null && <ShelveDialog alarm={shelved} onClose={() => setShelved(null)} />}
    </>
  );
}

interface RowParts {
  readonly alarm: AlarmView;
  /** Undefined until the points are read. */
  readonly point: PointEntry | undefined;
  readonly place: RowPlace;
  /** Null for a read-only user. */
  readonly onShelve: (() => void) | null;
}

function AlarmRow({ alarm, point, place, onShelve }: RowParts) {
  return (
    <tr {...place} data-alarm={alarm.id}>
      <td>
        <AlarmName alarm={alarm} />
        {alarm.threshold !== null && point !== undefined && <Compared threshold={alarm.threshold} point={point} />}
        {alarm.message !== null && <div className={classes['soft']}>{alarm.message}</div>}
      </td>
      <td className={table['short']}>{words.priority[alarm.priority]}</td>
      <td>
        <Tag tone={stateTone(alarm)}>{words.state[alarm.state]}</Tag>{' '}
        {alarm.first_out && conditionHolds(alarm) && (
          <Tag tone="info" title={words.firstOutHint}>
            {words.firstOut}
          </Tag>
        )}
        {alarm.acknowledged_by !== null && conditionHolds(alarm) && (
          <div className={classes['soft']}>{words.acknowledgedBy(alarm.acknowledged_by.id)}</div>
        )}
        {alarm.shelved_until !== null && (
          <div className={classes['soft']}>
            <Ahead at={alarm.shelved_until} said={words.shelvingEnds} />
          </div>
        )}
      </td>
      <td>
        {alarm.since !== null && <Moment at={alarm.since} />}
        {alarm.count > 0 && <div className={classes['soft']}>{words.count(alarm.count)}</div>}
      </td>
      {onShelve !== null && (
        <td>
          <AlarmActions alarm={alarm} onShelve={onShelve} />
        </td>
      )}
    </tr>
  );
}

/** With a link to its point. */
function AlarmName({ alarm: { name, point } }: { alarm: AlarmView }) {
  if (point === null) return <strong>{name}</strong>;
  const pointKey = `${point.instance}:${point.point_type}:${point.point}`;
  return (
    <Link to="/points/$pointKey" params={{ pointKey }} className={classes['name'] ?? ''}>
      {name}
    </Link>
  );
}

/** The threshold of the alarm, and the value now. */
function Compared({ threshold, point }: { threshold: NonNullable<AlarmView['threshold']>; point: PointEntry }) {
  const { value, quality } = useLivePoint(point);
  const edge = words.threshold[threshold.kind](withUnit(threshold.value, point.unit));
  const now =
    value === null ? words.noValue(pointWords.quality[quality] ?? quality) : words.now(withUnit(value, point.unit));
  return (
    <div className={classes['soft']} data-compared>
      {words.compared(edge, now)}
    </div>
  );
}

function AlarmActions({ alarm, onShelve }: { alarm: AlarmView; onShelve: () => void }) {
  const acknowledge = useAcknowledge(() => announce(words.acknowledged(alarm.name)));
  const unshelve = useUnshelve(() => announce(words.unshelve.done(alarm.name)));
  return (
    <div className={classes['head']}>
      {isWaiting(alarm) && (
        <Button
          size="compact-sm"
          aria-label={words.acknowledgeOf(alarm.name)}
          loading={acknowledge.isPending}
          onClick={() => acknowledge.mutate(alarm.id)}
        >
          {words.acknowledge}
        </Button>
      )}
      <Button size="compact-sm" variant="default" aria-label={words.shelve.of(alarm.name)} onClick={onShelve}>
        {words.shelve.open}
      </Button>
      {alarm.state === 'shelved' && (
        <Button
          size="compact-sm"
          variant="default"
          aria-label={words.unshelve.of(alarm.name)}
          loading={unshelve.isPending}
          onClick={() => unshelve.mutate(alarm.id)}
        >
          {words.unshelve.open}
        </Button>
      )}
      {acknowledge.isError && <Failure error={acknowledge.error} />}
      {unshelve.isError && <Failure error={unshelve.error} />}
    </div>
  );
}

function AlarmChanges({ names }: { names: ReadonlyMap<string, string> }) {
  const history = useAlarmHistory(changesShown);
  const changes = history.data ?? [];
  return (
    <section className={`${classes['panel']} ${classes['apart']}`} aria-labelledby="changes">
      <h2 id="changes" className={classes['heading']}>
        {words.history.title}
      </h2>
      {history.isError && <Failure error={history.error} onRetry={() => void history.refetch()} />}
      {history.data !== undefined && changes.length === 0 && <p className={classes['soft']}>{words.history.none}</p>}
      {changes.length > 0 && (
        <table className={table['table']} aria-label={words.history.title}>
          <thead>
            <tr>
              <th scope="col">{words.history.columns.at}</th>
              <th scope="col">{words.history.columns.alarm}</th>
              <th scope="col">{words.history.columns.state}</th>
              <th scope="col">{words.history.columns.by}</th>
              <th scope="col">{words.history.columns.reason}</th>
            </tr>
          </thead>
          <tbody>
            {changes.slice(0, changesShown).map(({ id, state, at, by, reason }) => (
              <tr key={`${id} ${at} ${state}`}>
                <td>
                  <Moment at={at} />
                </td>
                <td>{names.get(id) ?? id}</td>
                <td>{words.state[state]}</td>
                <td>{by?.id}</td>
                <td>{reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {changes.length > changesShown && <p className={classes['soft']}>{words.history.more(changesShown)}</p>}
    </section>
  );
}
