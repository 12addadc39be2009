/** Stored forecasts: their scores, and each one beside the recorded values. */
import { Slider } from '@mantine/core';
import { useState } from 'react';
import type { TaskDiscoveryEntry } from '../../../src/api/processing-discovery.ts';
import { Failure } from '../parts/failure.tsx';
import { fullTime } from '../parts/moment.tsx';
import { Notice } from '../parts/tag.tsx';
import { forecastWords, unavailableText } from '../strings/forecasts.ts';
import { useIssued, useKept, useScores } from './forecast-queries.ts';
import { ForecastResult } from './forecast-result.tsx';
import classes from './forecasts.module.css';
import { ScoreCard } from './score-card.tsx';

const words = forecastWords.kept;

export function KeptForecasts({ entry }: { entry: TaskDiscoveryEntry }) {
  const [back, setBack] = useState(0);
  const issued = useIssued(entry, back);
  const scores = useScores(entry);
  const total = issued.data?.total ?? 0;
  const found = issued.data?.entry ?? null;
  return (
    <section className={classes['main']} aria-labelledby="kept" data-testid="kept">
      <h2 id="kept" className={classes['heading']}>
        {words.title}
      </h2>
      {issued.isError && <Failure error={issued.error} />}
      {issued.data?.total === 0 && <Notice tone="calm">{words.none}</Notice>}
      {total > 0 && scores.data !== undefined && <ScoreCard scores={scores.data} />}
      {total > 1 && (
        <Slider
          thumbLabel={words.slider}
          thumbProps={{ 'aria-valuetext': found === null ? '' : fullTime(found.as_of) }}
          min={0}
          max={total - 1}
          value={total - 1 - back}
          label={null}
          onChange={(place) => setBack(total - 1 - place)}
        />
      )}
      {found !== null && (
        <>
          <p className={classes['soft']}>{words.issued(fullTime(found.as_of), total - back, total)}</p>
          {found.status === 'unavailable' ? (
            <Notice tone="warn">{words.unavailable(unavailableText(found.reason_code ?? ''))}</Notice>
          ) : (
            <KeptResult entry={entry} resultId={found.result_id} />
          )}
        </>
      )}
    </section>
  );
}

function KeptResult({ entry, resultId }: { entry: TaskDiscoveryEntry; resultId: string }) {
  const kept = useKept(resultId, entry);
  if (kept.isError) return <Failure error={kept.error} />;
  const { derived, actuals, before } = kept.data ?? {};
  if (derived === undefined || derived === null) return <div className={classes['chart']} />;
  return <ForecastResult origin="issued" derived={derived} actuals={actuals ?? []} before={before} />;
}
