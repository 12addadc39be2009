/** The executions of a rule, newest first; the chosen one is shown on the canvas. */
import { Button, Skeleton, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { ConsoleCatalogue } from '../editor/site-catalogue.ts';
import { pointLabel } from '../editor/site-catalogue.ts';
import { type AnyRecord, errorWords } from '../live/run-view.ts';
import { onRun, type RunRecord } from '../live/stream.ts';
import { Failure } from '../parts/failure.tsx';
import { clockTime, fullTime } from '../parts/moment.tsx';
import { shownDuration } from '../parts/number.ts';
import { Tag } from '../parts/tag.tsx';
import { outcomeOf } from '../rules/rule-words.ts';
import { t } from '../strings/index.ts';
import { triggerView } from '../trigger/index.ts';
import classes from './history-panel.module.css';
import { type RunFilter, useChosenRun, useRunList } from './history-queries.ts';
import { RunDetails } from './run-details.tsx';
import { RunFilters, Scrubber } from './run-filters.tsx';

const words = t.runs;

interface PanelParts {
  readonly ruleId: number;
  readonly catalogue: ConsoleCatalogue;
  /** The shown execution; null for the last one. */
  readonly chosen: string | null;
  readonly onChoose: (executionId: string | null) => void;
}

export function HistoryPanel({ ruleId, catalogue, chosen, onChoose }: PanelParts) {
  const [filter, setFilter] = useState<RunFilter>({ onlyChanges: true, outcome: null, untilMs: null });
  const runs = useRunList(ruleId, filter);
  const hasNew = useNewRuns(ruleId, runs.dataUpdatedAt);
  const { records } = runs;
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
      {records.length === 0 && !runs.isSearching && <Text size="sm">{noRuns(filter, runs.searchedFrom)}</Text>}
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
        <Button variant="default" loading={runs.isFetchingNextPage} onClick={runs.search}>
          {words.history.more}
        </Button>
      )}
    </Stack>
  );
}

/** Why the list is empty. `searchedFrom`: how far back the search has reached; null once it is complete. */
function noRuns({ onlyChanges, outcome, untilMs }: RunFilter, searchedFrom: string | null): string {
  if (searchedFrom === null) return outcome === null && untilMs === null ? words.history.empty : words.history.none;
  const time = fullTime(searchedFrom);
  return onlyChanges && outcome === null ? words.history.noChangeSince(time) : words.history.noneSince(time);
}

/** Whether the rule has run since the list was loaded. The list does not move while it is read. */
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
  /** Time of the next different decision, or null; undefined if the row is a single run. */
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
