/** The newest forecast of the first task, drawn on from the last 24 hours of what it forecasts. */
import { Link } from '@tanstack/react-router';
import type { TaskDiscoveryEntry } from '../../../src/api/processing-discovery.ts';
import { useIssued, useKept, useTasks } from '../forecasts/forecast-queries.ts';
import { later } from '../parts/later.tsx';
import { Moment } from '../parts/moment.tsx';
import points from '../points/points.module.css';
import { siteWords } from '../strings/points.ts';
import classes from './site.module.css';

const words = siteWords.forecast;
const FanChart = later(async () => (await import('../forecasts/fan-chart.tsx')).FanChart);

/** Nothing where data processing is off, or nobody has asked for a forecast yet. */
export function ForecastPanel() {
  const [entry] = useTasks().data ?? [];
  return entry === undefined ? null : <Newest entry={entry} />;
}

function Newest({ entry }: { entry: TaskDiscoveryEntry }) {
  const issued = useIssued(entry, 0).data?.entry ?? null;
  if (issued === null || issued.status === 'unavailable') return null;
  return <Joined entry={entry} resultId={issued.result_id} asOf={issued.as_of} />;
}

function Joined({ entry, resultId, asOf }: { entry: TaskDiscoveryEntry; resultId: string; asOf: string }) {
  const { target } = entry.forecast;
  const { derived, actuals, before } = useKept(resultId, entry).data ?? {};
  return (
    <section className={points['panel']} aria-labelledby="forecast" data-testid="site-forecast">
      <div className={points['head']}>
        <h2 id="forecast" className={points['heading']}>
          {words.title(`${target.name} [${target.unit}]`)}
        </h2>
        <span className={points['soft']}>
          {words.dataUpTo} <Moment at={asOf} />
        </span>
      </div>
      <div className={classes['chart']}>
        {derived !== undefined && derived !== null && (
          <FanChart output={derived.data} before={before} actuals={actuals} label={words.title(target.name)} />
        )}
      </div>
      <Link to="/forecasts" className={points['soft'] ?? ''}>
        {words.all}
      </Link>
    </section>
  );
}
