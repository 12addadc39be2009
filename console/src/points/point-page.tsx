/** One point: its current value, its trend and, for an actuator, its owner. */
import { Button, Skeleton } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useLivePoint, useWatchPoints } from '../live/stream.ts';
import { Failure } from '../parts/failure.tsx';
import { fullTime, Moment, useNowMs } from '../parts/moment.tsx';
import { withUnit } from '../parts/number.ts';
import page from '../parts/page.module.css';
import { PageHeading } from '../parts/page-heading.tsx';
import { Notice, Tag } from '../parts/tag.tsx';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { NotFound } from '../shell/page-failure.tsx';
import { t } from '../strings/index.ts';
import { pointWords } from '../strings/points.ts';
import { LimitDialog, OverrideDialog, ReleaseDialog } from './override-dialog.tsx';
import { OwnershipPanel } from './ownership-panel.tsx';
import { type GrantEntry, type PointEntry, useGrants, usePoints } from './point-queries.ts';
import { PointRulesPanel } from './point-rules-panel.tsx';
import { keyOf, ownerText, ownerTone, qualityTone, wasRead } from './point-words.ts';
import classes from './points.module.css';
import { TrendPanel } from './trend-panel.tsx';

const words = pointWords;

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
      <PageHeading>{`${point.instance_name} ${point.name}`}</PageHeading>
      <Head point={point} />
      <TrendPanel key={pointKey} point={point} />
      <PointRulesPanel point={point} />
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
        {point.text ?? withUnit(now.value, point.unit)}
      </p>
      {point.point_type === 'action' && <InHand point={point} />}
      <div className={classes['facts']}>
        <Tag tone={qualityTone(now)}>{words.quality[now.quality]}</Tag>
        {now.observed_at !== null && wasRead(now) && <Moment at={now.observed_at} />}
        <span className={classes['soft']}>{keyOf(point)}</span>
        {owner !== null && (
          <Tag tone={ownerTone(owner)} long>
            {ownerText(owner)}
          </Tag>
        )}
        {command !== null && (
          <span className={classes['soft']}>
            {words.command(withUnit(command.written, point.unit), words.result[command.result] ?? command.result)}{' '}
            <Moment at={command.at} />
          </span>
        )}
      </div>
      {error !== null && (
        <Notice tone="warn">
          {error.message} <Moment at={error.at} />
        </Notice>
      )}
    </>
  );
}

/** Overrides and limits in force, and the buttons to set them: above what changes its length, so that no button moves as it is pressed. */
function InHand({ point }: { point: PointEntry }) {
  const session = useSession();
  const grants = useGrants();
  const [dialog, setDialog] = useState<'override' | 'limit' | GrantEntry | null>(null);
  const may = session.status !== 'out' && mayManage(session.facts.role);
  const own = (grants.data ?? []).filter((grant) => grant.instance === point.instance && grant.point === point.point);
  const close = (): void => setDialog(null);
  return (
    <div className={classes['facts']}>
      {own.map((grant) => (
        <span key={grant.override_id} className={classes['soft']}>
          {ownerText({ kind: grant.kind, name: grant.reason })} <Countdown at={grant.until} />{' '}
          {may && (
            <Button size="compact-sm" variant="default" onClick={() => setDialog(grant)}>
              {words.override.release}
            </Button>
          )}
        </span>
      ))}
      {may && (
        <>
          <Button size="compact-md" onClick={() => setDialog('override')}>
            {words.override.open}
          </Button>
          <Button size="compact-md" variant="default" onClick={() => setDialog('limit')}>
            {words.override.limit}
          </Button>
        </>
      )}
      {dialog === 'override' && <OverrideDialog point={point} onClose={close} />}
      {dialog === 'limit' && <LimitDialog point={point} onClose={close} />}
      {dialog !== null && typeof dialog !== 'string' && <ReleaseDialog grant={dialog} onClose={close} />}
    </div>
  );
}

/** Remaining time in hours, minutes and seconds. */
function Countdown({ at }: { at: string }) {
  const left = Math.max(0, Math.ceil((Date.parse(at) - useNowMs()) / 1000));
  const two = (value: number): string => String(value).padStart(2, '0');
  return (
    <time dateTime={at} title={fullTime(at)} className={classes['number']} data-testid="countdown">
      {`${two(Math.floor(left / 3600))}:${two(Math.floor(left / 60) % 60)}:${two(left % 60)}`}
    </time>
  );
}
