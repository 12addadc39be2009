/** Filters of the listed runs, and a slider that moves the canvas through them. */
import { Select, Text, TextInput } from '@mantine/core';
import type { RunRecord } from '../live/stream.ts';
import { fullTime } from '../parts/moment.tsx';
import { outcomeOf } from '../rules/rule-words.ts';
import { t } from '../strings/index.ts';
import classes from './history-panel.module.css';
import type { RunFilter } from './history-queries.ts';

const words = t.runs.history;
const outcomes = ['acted', 'no_action', 'skipped', 'failed'] as const;

interface FilterParts {
  readonly filter: RunFilter;
  readonly onFilter: (filter: RunFilter) => void;
}

export function RunFilters({ filter, onFilter }: FilterParts) {
  return (
    <div className={classes['filters']}>
      <label className={classes['check']}>
        <input
          type="checkbox"
          checked={filter.onlyChanges}
          onChange={({ currentTarget }) => onFilter({ ...filter, onlyChanges: currentTarget.checked })}
        />
        {words.onlyChanges}
      </label>
      <Select
        label={words.outcome}
        value={filter.outcome ?? ''}
        allowDeselect={false}
        data={[
          { value: '', label: words.anyOutcome },
          ...outcomes.map((name) => ({ value: name, label: outcomeOf(name).text })),
        ]}
        onChange={(next) => onFilter({ ...filter, outcome: outcomes.find((name) => name === next) ?? null })}
      />
      <TextInput
        type="datetime-local"
        step={1}
        label={words.until}
        onChange={({ currentTarget }) => {
          const untilMs = currentTarget.value === '' ? null : Date.parse(currentTarget.value);
          onFilter({ ...filter, untilMs: untilMs === null || Number.isNaN(untilMs) ? null : untilMs });
        }}
      />
    </div>
  );
}

interface ScrubberParts {
  /** Newest first. */
  readonly records: readonly RunRecord[];
  readonly chosen: string | null;
  readonly onChoose: (executionId: string) => void;
}

/** From the oldest listed run to the newest; arrow keys go from run to run. */
export function Scrubber({ records, chosen, onChoose }: ScrubberParts) {
  if (records.length < 2) return null;
  const last = records.length - 1;
  const at = records.findIndex(({ execution_id: id }) => id === chosen);
  const [oldest, newest] = [records[last], records[0]];
  const shown = records[at === -1 ? 0 : at];
  return (
    <div>
      <input
        className={classes['scrubber']}
        type="range"
        aria-label={words.scrubber}
        aria-valuetext={shown === undefined ? undefined : fullTime(shown.started_at)}
        min={0}
        max={last}
        value={at === -1 ? last : last - at}
        onChange={({ currentTarget }) => {
          const record = records[last - Number(currentTarget.value)];
          if (record !== undefined) onChoose(record.execution_id);
        }}
      />
      <div className={classes['rowHead']}>
        <Text size="xs" c="dimmed">
          {oldest === undefined ? '' : fullTime(oldest.started_at)}
        </Text>
        <Text size="xs" c="dimmed">
          {newest === undefined ? '' : fullTime(newest.started_at)}
        </Text>
      </div>
    </div>
  );
}
