/** One point: its value now, its trend, and of an actuator who holds it. */
import { Button, SegmentedControl, Skeleton, Title } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import { useLivePoint, useWatchPoints } from '../live/stream.ts';
import { Failure } from '../parts/failure.tsx';
import { later } from '../parts/later.tsx';
import { Ahead, Moment } from '../parts/moment.tsx';
import { withUnit } from '../parts/number.ts';
import page from '../parts/page.module.css';
import { Notice, Tag } from '../parts/tag.tsx';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { NotFound } from '../shell/page-failure.tsx';
import { t } from '../strings/index.ts';
import { pointWords } from '../strings/points.ts';
import { OverrideDialog, ReleaseDialog } from './override-dialog.tsx';
import { OwnershipPanel } from './ownership-panel.tsx';
import { type GrantEntry, type PointEntry, type TimeSpan, useGrants, usePoints, useTrend } from './point-queries.ts';
import { keyOf, ownerText, ownerTone, qualityTone } from './point-words.ts';
import classes from './points.module.css';

const words = pointWords;
const TrendChart = later(async () => (await import('./trend-chart.tsx')).default);
const rangeSeconds = { hour: 3600, day: 86_400, week: 604_800, month: 2_592_000, year: 34_560_000 } as const;
type Range = keyof typeof rangeSeconds;

export function PointPage() {
  const { pointKey } = useParams({ from: '/points/$pointKey' });
  const points = usePoints();
  useWatchPoints([pointKey]);
  const point = points.data?.find((each) => keyOf(each) === pointKey);
  if (points.isError && points.data === undefined)
    return <Failure error={points.error} onRetry={() => void points.refetch()} />;
  if (points.data === undefined) return <Skeleton height={260} radius="md" aria-label={t.common.loading} />;
  if (point === undefined) return <NotFound />;
  return (
    <div className={page['page']}>
      <Link to="/points" className={classes['soft'] ?? ''}>
        {words.back}
      </Link>
      <Title order={1} size="h2">
        {point.instance_name} {point.name}
      </Title>
      <Head point={point} />
      <TrendPanel key={pointKey} point={point} />
      {point.point_type === 'action' && <OwnershipPanel point={point} />}
    </div>
  );
}

function Head({ point }: { point: PointEntry }) {
  const now = useLivePoint(point);
  const { owner, last_error: error, last_command: command } = point;
  return (
    <>
      <p className={classes['value']} data-testid="value">
        {withUnit(now.value, point.unit)}
      </p>
      <div className={classes['facts']}>
        <Tag tone={qualityTone(now)}>{words.quality[now.quality]}</Tag>
        {now.observed_at !== null && <Moment at={now.observed_at} />}
        <span className={classes['soft']}>{keyOf(point)}</span>
        {owner !== null && <Tag tone={ownerTone(owner)}>{ownerText(owner)}</Tag>}
        {command !== null && (
          <span className={classes['soft']}>
            {words.command(withUnit(command.written, point.unit), words.result[command.result] ?? command.result)}{' '}
            <Moment at={command.at} />
          </span>
        )}
        {point.point_type === 'action' && <InHand point={point} />}
      </div>
      {error !== null && (
        <Notice tone="warn">
          {error.message} <Moment at={error.at} />
        </Notice>
      )}
    </>
  );
}

/** Overrides and limits in force, and the way to take the actuator in hand. */
function InHand({ point }: { point: PointEntry }) {
  const session = useSession();
  const grants = useGrants();
  const [dialog, setDialog] = useState<'override' | GrantEntry | null>(null);
  const may = session.status !== 'out' && mayManage(session.facts.role);
  const own = (grants.data ?? []).filter((grant) => grant.instance === point.instance && grant.point === point.point);
  const close = (): void => setDialog(null);
  return (
    <>
      {own.map((grant) => (
        <span key={grant.override_id} className={classes['soft']}>
          {ownerText({ kind: grant.kind, name: grant.reason })} <Ahead at={grant.until} />{' '}
          {may && (
            <Button size="compact-sm" variant="default" onClick={() => setDialog(grant)}>
              {words.override.release}
            </Button>
          )}
        </span>
      ))}
      {may && (
        <Button size="compact-md" onClick={() => setDialog('override')}>
          {words.override.open}
        </Button>
      )}
      {dialog === 'override' && <OverrideDialog point={point} onClose={close} />}
      {dialog !== null && dialog !== 'override' && <ReleaseDialog grant={dialog} onClose={close} />}
    </>
  );
}

function TrendPanel({ point }: { point: PointEntry }) {
  const [range, setRange] = useState<Range>('hour');
  const [chosen, setChosen] = useState<TimeSpan | null>(null);
  const trend = useTrend(point, rangeSeconds[range], chosen);
  const zoom = useCallback((span: TimeSpan): void => setChosen(span), []);
  const { data } = trend;
  return (
    <section className={classes['panel']} aria-labelledby="trend">
      <div className={classes['head']}>
        <h2 id="trend" className={classes['heading']}>
          {words.trend.title}
        </h2>
        <SegmentedControl
          aria-label={words.trend.range}
          size="xs"
          value={range}
          onChange={(value) => {
            setChosen(null);
            setRange(isRange(value) ? value : 'hour');
          }}
          data={Object.entries(words.trend.ranges).map(([value, label]) => ({ value, label }))}
        />
        {chosen !== null && (
          <Button size="compact-sm" variant="default" onClick={() => setChosen(null)}>
            {words.trend.zoomOut}
          </Button>
        )}
      </div>
      {trend.isError && <Failure error={trend.error} />}
      {data?.buckets.length === 0 && (
        <p className={classes['soft']}>
          {point.recorded || point.point_type === 'action' ? words.trend.none : words.trend.notRecorded}
        </p>
      )}
      {data !== undefined && data.buckets.length > 0 && (
        <TrendChart
          trend={data}
          steps={point.point_type === 'action'}
          label={words.trend.chart(point.name, data.buckets.length, words.trend.ranges[range])}
          onZoom={zoom}
        />
      )}
    </section>
  );
}

function isRange(value: string): value is Range {
  return Object.hasOwn(rangeSeconds, value);
}
