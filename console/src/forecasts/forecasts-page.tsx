/** Forecasts: the commissioned tasks, the state of their processors, and a run of one of them. */
import { Skeleton } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { TaskDiscoveryEntry } from '../../../src/api/processing-discovery.ts';
import { Failure } from '../parts/failure.tsx';
import { later } from '../parts/later.tsx';
import { Moment } from '../parts/moment.tsx';
import { shownDuration } from '../parts/number.ts';
import page from '../parts/page.module.css';
import { PageHeading } from '../parts/page-heading.tsx';
import { Notice, Tag, type Tone } from '../parts/tag.tsx';
import { forecastWords } from '../strings/forecasts.ts';
import { t } from '../strings/index.ts';
import { taskKey, useProcessors, useTasks } from './forecast-queries.ts';
import { ForecastRun } from './forecast-run.tsx';
import classes from './forecasts.module.css';

const words = forecastWords;
const KeptForecasts = later(async () => (await import('./kept-forecasts.tsx')).KeptForecasts);

export function ForecastsPage() {
  const tasks = useTasks();
  const { task: chosen } = useSearch({ from: '/forecasts' });
  const navigate = useNavigate();
  const entries = tasks.data ?? [];
  const entry = entries.find((each) => taskKey(each) === chosen) ?? entries[0];
  return (
    <div className={page['page']}>
      <PageHeading>{words.title}</PageHeading>
      <p className={page['lead']}>{words.lead}</p>
      {tasks.isPending && <Skeleton height={260} radius="md" aria-label={t.common.loading} />}
      {tasks.isError && tasks.data === undefined && (
        <Failure error={tasks.error} onRetry={() => void tasks.refetch()} />
      )}
      {tasks.data === null && (
        <Notice tone="info">
          {words.off} {words.offHint}
        </Notice>
      )}
      {tasks.data?.length === 0 && <Notice tone="calm">{words.noTasks}</Notice>}
      {entry !== undefined && (
        <div className={classes['columns']}>
          <div className={classes['side']}>
            <section aria-labelledby="tasks">
              <h2 id="tasks" className={classes['heading']}>
                {words.tasks}
              </h2>
              <ul className={classes['cards']}>
                {entries.map((each) => (
                  <li key={taskKey(each)}>
                    <TaskCard
                      entry={each}
                      chosen={each === entry}
                      onChoose={() => void navigate({ to: '/forecasts', search: { task: taskKey(each) } })}
                    />
                  </li>
                ))}
              </ul>
            </section>
            <Processors />
          </div>
          <div className={classes['stack']} key={taskKey(entry)}>
            <ForecastRun entry={entry} />
            <KeptForecasts entry={entry} />
          </div>
        </div>
      )}
    </div>
  );
}

interface CardParts {
  readonly entry: TaskDiscoveryEntry;
  readonly chosen: boolean;
  readonly onChoose: () => void;
}

function TaskCard({ entry, chosen, onChoose }: CardParts) {
  const { forecast } = entry;
  const span = (steps: number): string => shownDuration(steps * forecast.cadence_ms);
  return (
    <button
      type="button"
      className={classes['card']}
      aria-pressed={chosen}
      onClick={onChoose}
      data-task={entry.task.id}
    >
      <span className={classes['cardTitle']}>{entry.task.id}</span>
      <span className={classes['soft']}>
        {words.task.target} {forecast.target.name} [{forecast.target.unit}], {words.task.every(span(1))},{' '}
        {words.task.ahead(span(forecast.max_horizon_steps))}, {words.task.history(span(forecast.history_steps))}
      </span>
      <span className={classes['soft']}>{words.task.revision(entry.task.revision, entry.binding.revision)}</span>
    </button>
  );
}

const healthTones: Record<'healthy' | 'degraded' | 'unavailable', Tone> = {
  healthy: 'good',
  degraded: 'warn',
  unavailable: 'bad',
};

function Processors() {
  const processors = useProcessors(true);
  return (
    <section aria-labelledby="processors">
      <h2 id="processors" className={classes['heading']}>
        {words.processors}
      </h2>
      {processors.isError && processors.data === undefined && <Failure error={processors.error} />}
      <ul className={classes['cards']}>
        {processors.data?.map((processor) => (
          <li key={processor.processor_id} className={classes['card']} data-processor={processor.processor_id}>
            <span className={classes['cardTitle']}>
              {processor.processor_id}
              <Tag tone={healthTones[processor.health]}>{words.health[processor.health]}</Tag>
            </span>
            <span className={classes['soft']}>
              {words.serves(processor.tasks.length)}
              {processor.latency_ms !== undefined &&
                `, ${words.latency(shownDuration(Math.round(processor.latency_ms)))}`}
              , {words.checked} <Moment at={processor.checked_at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
