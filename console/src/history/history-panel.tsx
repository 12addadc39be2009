/** The executions of a rule, newest first; one that is chosen is shown on the canvas. */
import { Button, Skeleton, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { ConsoleCatalogue } from '../editor/site-catalogue.ts';
import { pointLabel } from '../editor/site-catalogue.ts';
import { writeStatus } from '../editor/write-status.ts';
import { type AnyRecord, errorWords, type ShownRun } from '../live/run-view.ts';
import { onRun, type RunRecord } from '../live/stream.ts';
import { Failure } from '../parts/failure.tsx';
import { clockTime, fullTime, Moment } from '../parts/moment.tsx';
import { shownDuration, withUnit } from '../parts/number.ts';
import { Notice, Tag } from '../parts/tag.tsx';
import { outcomeOf } from '../rules/rule-words.ts';
import { useSession } from '../session/session.ts';
import { mayAudit, mayManage } from '../session/token.ts';
import { t } from '../strings/index.ts';
import { triggerView } from '../trigger/index.ts';
import classes from './history-panel.module.css';
import { type RunFilter, useChosenRun, useRunList } from './history-queries.ts';
import { RunFilters, Scrubber } from './run-filters.tsx';

const words = t.runs;

interface PanelParts {
  readonly ruleId: number;
  readonly catalogue: ConsoleCatalogue;
  /** The execution that is shown; null while the last one is. */
  readonly chosen: string | null;
  readonly onChoose: (executionId: string | null) => void;
}

export function HistoryPanel({ ruleId, catalogue, chosen, onChoose }: PanelParts) {
  const [filter, setFilter] = useState<RunFilter>({ onlyChanges: true, outcome: null, untilMs: null });
  const runs = useRunList(ruleId, filter);
  const hasNew = useNewRuns(ruleId, runs.dataUpdatedAt);
  const records = runs.data?.pages.flatMap((page) => page.list) ?? [];
  const shown = useChosenRun(ruleId, chosen);
  if (runs.isPending) return <Skeleton height={200} aria-label={t.common.loading} />;
  if (runs.isError) return <Failure error={runs.error} onRetry={() => void runs.refetch()} />;
  return (
    <Stack gap="sm" data-testid="history">
      <Text size="xs" c="dimmed">
        {words.history.lead}
      </Text>
      <RunFilters filter={filter} onFilter={setFilter} />
      {/* Always there: a row must not move away under the hand that points at it. */}
      <Button size="compact-sm" variant="default" disabled={!hasNew} onClick={() => void runs.refetch()}>
        {hasNew ? words.history.refresh : words.history.upToDate}
      </Button>
      <Scrubber records={records} chosen={chosen} onChoose={onChoose} />
      {shown !== null && (
        <div className={classes['shown']}>
          <Text fw={600} size="sm">
            {words.history.shown(fullTime(shown.started_at))}
          </Text>
          <RunDetails record={shown} kind="history" catalogue={catalogue} />
        </div>
      )}
      {records.length === 0 && <Text size="sm">{words.history.empty}</Text>}
      <ul className={classes['list']}>
        {records.map((record, at) => (
          <li key={record.execution_id}>
            <RunRow
              record={record}
              until={filter.onlyChanges && filter.outcome === null ? (records[at - 1]?.started_at ?? null) : undefined}
              catalogue={catalogue}
              chosen={record.execution_id === chosen}
              onChoose={() => onChoose(record.execution_id === chosen ? null : record.execution_id)}
            />
          </li>
        ))}
      </ul>
      {runs.hasNextPage && (
        <Button variant="default" loading={runs.isFetchingNextPage} onClick={() => void runs.fetchNextPage()}>
          {words.history.more}
        </Button>
      )}
    </Stack>
  );
}

/** Whether the rule ran since the list was fetched. The list itself does not move under the reader's hand. */
function useNewRuns(ruleId: number, fetchedAtMs: number): boolean {
  const [ranFor, setRanFor] = useState<number | null>(null);
  useEffect(() => onRun((record) => record.rule_id === ruleId && setRanFor(fetchedAtMs)), [ruleId, fetchedAtMs]);
  return ranFor === fetchedAtMs && fetchedAtMs !== 0;
}

export function triggerWords(record: AnyRecord, catalogue: ConsoleCatalogue): string {
  const { trigger } = record;
  const point = trigger.point === undefined ? undefined : catalogue.point(trigger.point);
  if (point !== undefined) return words.triggerPoint(pointLabel(point));
  return trigger.type === 'manual' ? words.manual : triggerView(trigger.type).run;
}

interface RowParts {
  readonly record: RunRecord;
  /** When a later run decided otherwise: null while none has, undefined where the row is one run alone. */
  readonly until: string | null | undefined;
  readonly catalogue: ConsoleCatalogue;
  readonly chosen: boolean;
  readonly onChoose: () => void;
}

function RunRow({ record, until, catalogue, chosen, onChoose }: RowParts) {
  const outcome = outcomeOf(record.outcome);
  const { actions_executed: actions } = record;
  const accepted = actions.filter(({ success }) => success).length;
  return (
    <button
      type="button"
      className={classes['row']}
      aria-pressed={chosen}
      onClick={onChoose}
      data-outcome={record.outcome}
    >
      <span className={classes['rowHead']}>
        <Tag tone={outcome.tone}>{outcome.text}</Tag>
        <span className={classes['time']} title={fullTime(record.started_at)}>
          {until === undefined
            ? clockTime(record.started_at)
            : words.history.span(clockTime(record.started_at), until === null ? null : clockTime(until))}
        </span>
      </span>
      <span className={classes['rowText']}>
        {triggerWords(record, catalogue)}, {words.duration(shownDuration(record.duration_us / 1000))}
        {actions.length > 0 && `, ${record.shadow === true ? words.shadow : words.writes(accepted, actions.length)}`}
        {record.matched_condition !== null && ` · ${record.matched_condition}`}
      </span>
      {record.error !== null && <span className={classes['rowText']}>{errorWords(record)}</span>}
    </button>
  );
}

interface DetailParts {
  readonly record: AnyRecord;
  readonly kind: ShownRun['kind'];
  readonly catalogue: ConsoleCatalogue;
}

/** Everything that one run saw, decided and did. */
export function RunDetails({ record, kind, catalogue }: DetailParts) {
  const session = useSession();
  const audit = kind !== 'trial' && session.status !== 'out' && mayAudit(session.facts.role);
  const outcome = outcomeOf(record.outcome);
  return (
    <Stack gap="xs" data-testid="run-details">
      <div className={classes['rowHead']}>
        <Tag tone={outcome.tone} title={outcome.hint}>
          {outcome.text}
        </Tag>
        {kind === 'live' && (
          <span className={classes['time']}>
            <Moment at={record.started_at} />
          </span>
        )}
      </div>
      {record.error !== null && (
        <Notice tone={record.outcome === 'skipped' ? 'warn' : 'bad'}>{errorWords(record)}</Notice>
      )}
      <Text size="sm">
        {words.condition}: <b>{record.matched_condition ?? words.noCondition}</b>
      </Text>
      <Text size="sm" className={classes['path'] ?? ''}>
        {words.path}: {record.execution_path.join(' → ')}
      </Text>
      <Actions record={record} kind={kind} catalogue={catalogue} />
      <Values values={record.variable_values} />
      {kind === 'history' && session.status !== 'out' && mayManage(session.facts.role) && (
        <Link
          to="/rules/$ruleId/evidence"
          params={{ ruleId: String(record.rule_id) }}
          search={{ part: 'tests', run: record.execution_id }}
          className={classes['link'] ?? ''}
        >
          {words.toTest}
        </Link>
      )}
      {audit && (
        <Link to="/audit" search={{ correlation: record.correlation_id }} className={classes['link'] ?? ''}>
          {words.correlation}
        </Link>
      )}
    </Stack>
  );
}

function Actions({ record, kind, catalogue }: DetailParts) {
  if (record.actions_executed.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {words.noWrites}
      </Text>
    );
  return (
    <table className={classes['table']} aria-label={words.actions}>
      <tbody>
        {record.actions_executed.map((action, index) => {
          const point = catalogue.point(action);
          const status = writeStatus(action, kind);
          return (
            <tr key={index}>
              <th scope="row">{point === undefined ? `${action.instance}:${action.point}` : pointLabel(point)}</th>
              <td>{withUnit(action.written ?? action.value, point?.unit)}</td>
              <td className={status.ok ? classes['good'] : classes['bad']} title={status.hint}>
                {status.text}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Values({ values }: { values: AnyRecord['variable_values'] }) {
  const entries = Object.entries(values);
  if (entries.length === 0) return null;
  return (
    <table className={classes['table']} aria-label={words.values}>
      <tbody>
        {entries.map(([name, value]) => (
          <tr key={name}>
            <th scope="row" className={classes['mono']}>
              {name}
            </th>
            <td>{value === null ? words.unavailable : withUnit(value, null)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
