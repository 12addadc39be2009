/** The first page: the plant now, each actuator with its owner, bad values, and the latest decisions. */
import { Skeleton } from '@mantine/core';
import { Link, Navigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { AuditBroken } from '../audit/audit-broken.tsx';
import { useChannels } from '../devices/device-queries.ts';
import { useAreUsable, useLastRun, useLivePoint, useStreamState, useWatch, useWatchPoints } from '../live/stream.ts';
import { Failure } from '../parts/failure.tsx';
import { Ahead, Moment } from '../parts/moment.tsx';
import { withUnit } from '../parts/number.ts';
import page from '../parts/page.module.css';
import { PageHeading } from '../parts/page-heading.tsx';
import { Notice, Tag } from '../parts/tag.tsx';
import { type PointEntry, useNewestRun, usePoints } from '../points/point-queries.ts';
import { keyOf, ownerText, ownerTone, qualityTone } from '../points/point-words.ts';
import classes from '../points/points.module.css';
import { PointLink } from '../points/points-page.tsx';
import { needsAttention, outcomeOf, reasonsOf } from '../rules/rule-words.ts';
import { type ListedRule, useRuleName, useRules } from '../server/queries.ts';
import { useMayRead } from '../session/session.ts';
import { t } from '../strings/index.ts';
import { pointWords, siteWords } from '../strings/points.ts';
import { unusualFirst } from './actuators.ts';
import { AlarmsPanel } from './alarms-panel.tsx';
import { BalancePanel, drawnFlows } from './balance-panel.tsx';
import { decisionText } from './decision-words.ts';
import { ForecastPanel } from './forecast-panel.tsx';
import { ParametersPanel } from './parameters-panel.tsx';
import { troubledPoints } from './trouble.ts';

const words = siteWords;
const none: readonly PointEntry[] = [];
const actuatorsMax = 20;
const decisionsMax = 10;
const troubleMax = 8;
const more = `${classes['soft']} ${classes['apart']}`;

export function SitePage() {
  return useMayRead() ? <SiteNow /> : <Navigate to="/audit" replace />;
}

function SiteNow() {
  const points = usePoints();
  const stream = useStreamState();
  const all = points.data ?? none;
  const actuators = useMemo(() => all.filter(({ point_type: kind }) => kind === 'action'), [all]);
  const shown = useMemo(() => unusualFirst(actuators, actuatorsMax), [actuators]);
  useWatchPoints(useMemo(() => [...drawnFlows(all), ...shown].map(keyOf), [all, shown]));
  return (
    <div className={page['page']}>
      <PageHeading mb="sm">{words.title}</PageHeading>
      <AuditBroken />
      {stream === 'lost' && <Notice tone="warn">{words.notLive}</Notice>}
      {points.isError && points.data === undefined && (
        <Failure error={points.error} onRetry={() => void points.refetch()} />
      )}
      {points.isPending && <Skeleton height={260} radius="md" aria-label={t.common.loading} />}
      {points.data !== undefined && (
        <>
          <BalancePanel points={all} />
          <div className={classes['columns']}>
            <div>
              <Actuators points={shown} left={actuators.length - shown.length} />
              <ForecastPanel />
              <ParametersPanel />
            </div>
            <div>
              <AlarmsPanel />
              <Trouble points={all} />
              <Decisions points={all} />
            </div>
          </div>
        </>
      )}
    </div>
  );
}

function Actuators({ points, left }: { points: readonly PointEntry[]; left: number }) {
  return (
    <section className={classes['panel']} aria-labelledby="actuators">
      <h2 id="actuators" className={classes['heading']}>
        {words.actuators}
      </h2>
      {points.length === 0 && <p className={classes['soft']}>{words.noActuators}</p>}
      <ul className={`${classes['list']} ${classes['aligned']}`}>
        {points.map((point) => (
          <Actuator key={keyOf(point)} point={point} />
        ))}
      </ul>
      {left > 0 && (
        <Link to="/points" search={{ filter: 'action' }} className={more}>
          {words.more.actuators(left)}
        </Link>
      )}
    </section>
  );
}

function Actuator({ point }: { point: PointEntry }) {
  const now = useLivePoint(point);
  const { owner, last_command: command } = point;
  return (
    <li className={classes['row']}>
      <PointLink point={point} />
      <span className={classes['number']}>{withUnit(now.value ?? command?.written, point.unit)}</span>
      {owner !== null && (
        <span className={classes['soft']}>
          <Tag tone={ownerTone(owner)} long>
            {ownerText(owner)}
          </Tag>{' '}
          {owner.until !== null && <Ahead at={owner.until} said={pointWords.ends} />}
        </span>
      )}
    </li>
  );
}

function Trouble({ points: given }: { points: readonly PointEntry[] }) {
  const points = troubledPoints(given, useChannels().data);
  const all = useRules().data;
  const areUsable = useAreUsable(drawnFlows(given).map(keyOf));
  const rules = (all ?? []).filter(needsAttention);
  const nameOf = useRuleName();
  const shownRules = rules.slice(0, troubleMax);
  const shownPoints = points.slice(0, troubleMax - shownRules.length);
  const left = { rules: rules.length - shownRules.length, points: points.length - shownPoints.length };
  return (
    <section className={classes['panel']} aria-labelledby="trouble">
      <h2 id="trouble" className={classes['heading']}>
        {words.trouble}
      </h2>
      {all !== undefined && areUsable && rules.length + points.length === 0 && (
        <p className={classes['soft']}>{words.noTrouble}</p>
      )}
      <ul className={classes['list']}>
        {shownRules.map(({ id, name, status }) => (
          <li key={id} className={classes['row']}>
            <Link to="/rules/$ruleId" params={{ ruleId: String(id) }} className={classes['name'] ?? ''}>
              {name}
            </Link>
            {status?.last_run && (
              <Tag tone={outcomeOf(status.last_run.outcome).tone}>{outcomeOf(status.last_run.outcome).text}</Tag>
            )}
            <span className={classes['soft']}>{reasonsOf(status, nameOf).join(' ')}</span>
          </li>
        ))}
        {shownPoints.map((point) => (
          <li key={keyOf(point)} className={classes['row']}>
            <PointLink point={point} />
            <Tag tone={qualityTone(point)}>{pointWords.quality[point.quality]}</Tag>
            {point.last_error !== null && (
              <span className={classes['soft']}>
                {point.last_error.message} <Moment at={point.last_error.at} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {left.rules > 0 && (
        <Link to="/rules" search={{ filter: 'trouble' }} className={more}>
          {words.more.rules(left.rules)}
        </Link>
      )}
      {left.points > 0 && (
        <Link to="/points" search={{ filter: 'trouble' }} className={more}>
          {words.more.points(left.points)}
        </Link>
      )}
    </section>
  );
}

function Decisions({ points }: { points: readonly PointEntry[] }) {
  const rules = useRules();
  const all = rules.data ?? [];
  const ran = all
    .filter(({ status }) => status?.last_run !== null && status?.last_run !== undefined)
    .toSorted((one, other) => lastRunAt(other).localeCompare(lastRunAt(one)))
    .slice(0, decisionsMax);
  useWatch(ran.map(({ id }) => id));
  const byKey = useMemo(() => new Map(points.map((point) => [keyOf(point), point])), [points]);
  return (
    <section className={classes['panel']} aria-labelledby="decisions">
      <h2 id="decisions" className={classes['heading']}>
        {words.decisions}
      </h2>
      {rules.data !== undefined && ran.length === 0 && <p className={classes['soft']}>{words.noDecisions}</p>}
      <ul className={`${classes['list']} ${classes['aligned']}`}>
        {ran.map((rule) => (
          <Decision key={rule.id} rule={rule} points={byKey} />
        ))}
      </ul>
    </section>
  );
}

function Decision({ rule, points }: { rule: ListedRule; points: ReadonlyMap<string, PointEntry> }) {
  const pushed = useLastRun(rule.id);
  const read = useNewestRun(rule.id, pushed === null).data;
  const record = pushed ?? read;
  const last = record ?? rule.status?.last_run;
  if (last === null || last === undefined) return null;
  const outcome = outcomeOf(last.outcome);
  return (
    <li className={classes['row']}>
      <Link to="/rules/$ruleId" params={{ ruleId: String(rule.id) }} className={classes['name'] ?? ''}>
        {rule.name}
      </Link>
      <Tag tone={outcome.tone} title={outcome.hint}>
        {outcome.text}
      </Tag>
      <span className={classes['soft']}>
        <Moment at={last.started_at} />
      </span>
      {record && <span className={`${classes['soft']} ${classes['wide']}`}>{decisionText(record, points)}</span>}
    </li>
  );
}

function lastRunAt({ status }: ListedRule): string {
  return status?.last_run?.started_at ?? '';
}
