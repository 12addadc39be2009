/** One execution: its inputs, decision and writes. */
import { Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ConsoleCatalogue } from '../editor/site-catalogue.ts';
import { pointLabel } from '../editor/site-catalogue.ts';
import { writeStatus } from '../editor/write-status.ts';
import { type AnyRecord, errorWords, type ShownRun } from '../live/run-view.ts';
import { Moment } from '../parts/moment.tsx';
import { withUnit } from '../parts/number.ts';
import { Notice, Tag } from '../parts/tag.tsx';
import { outcomeOf } from '../rules/rule-words.ts';
import { useSession } from '../session/session.ts';
import { mayAudit, mayManage } from '../session/token.ts';
import { t } from '../strings/index.ts';
import classes from './history-panel.module.css';

const words = t.runs;

interface DetailParts {
  readonly record: AnyRecord;
  readonly kind: ShownRun['kind'];
  readonly catalogue: ConsoleCatalogue;
}

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
