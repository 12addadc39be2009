/** The last run of each rule of a point before an instant: its inputs, its writes, and a link to the run. */
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Failure } from '../parts/failure.tsx';
import { fullTime } from '../parts/moment.tsx';
import { withUnit } from '../parts/number.ts';
import { Tag } from '../parts/tag.tsx';
import { outcomeOf } from '../rules/rule-words.ts';
import { pointWords } from '../strings/points.ts';
import { type PointEntry, type PointRun, useRunsAt } from './point-queries.ts';
import classes from './points.module.css';

const words = pointWords.instant;

interface InstantParts {
  readonly point: PointEntry;
  readonly rules: ReadonlyMap<number, string>;
  /** Seconds since the epoch. */
  readonly unix: number;
  readonly onClose: () => void;
}

export function InstantPanel({ point, rules, unix, onClose }: InstantParts) {
  const runs = useRunsAt([...rules.keys()], unix);
  return (
    <div className={classes['instant']} role="status" data-testid="instant">
      <div className={classes['head']}>
        <h3 className={classes['subheading']}>{words.title(fullTime(unix * 1000))}</h3>
        <Button size="compact-sm" variant="default" onClick={onClose}>
          {words.close}
        </Button>
      </div>
      {runs.isError && <Failure error={runs.error} />}
      {runs.data?.length === 0 && <p className={classes['soft']}>{words.none}</p>}
      <ul className={classes['list']}>
        {runs.data?.map((run) => (
          <li key={run.execution_id} className={classes['row']}>
            <Link
              to="/rules/$ruleId"
              params={{ ruleId: String(run.rule_id) }}
              search={{ panel: 'history', run: run.execution_id }}
              className={classes['name'] ?? ''}
            >
              {rules.get(run.rule_id) ?? run.rule_id}
            </Link>
            <Tag tone={outcomeOf(run.outcome).tone} title={outcomeOf(run.outcome).hint}>
              {outcomeOf(run.outcome).text}
            </Tag>
            <span className={classes['soft']}>
              {[fullTime(run.started_at), run.matched_condition, written(run, point), run.error?.message]
                .filter((text) => typeof text === 'string' && text !== '')
                .join(', ')}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The value that the run wrote to this point. */
function written(run: PointRun, point: PointEntry): string {
  const values = run.actions_executed
    .filter(
      (action) =>
        action.success &&
        action.reason !== 'shadow' &&
        action.instance === point.instance &&
        action.point_type === point.point_type &&
        action.point === point.point,
    )
    .map((action) => withUnit(action.written ?? action.value, point.unit));
  return values.length === 0 ? '' : words.wrote(values.join(', '));
}
