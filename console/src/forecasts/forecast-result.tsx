/** Accepted derived data: chart or table, validity, and basis. */
import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import type { DerivedData } from '../../../src/api/processing.ts';
import { later } from '../parts/later.tsx';
import { fullTime, inWords, useNowMs } from '../parts/moment.tsx';
import { shownDuration, shownNumber, withUnit } from '../parts/number.ts';
import { Notice, Tag } from '../parts/tag.tsx';
import { forecastWords } from '../strings/forecasts.ts';
import { type ExplanationSeen, explanationOf } from './explanation.ts';
import type { RecordedValue } from './fan-chart.tsx';
import classes from './forecasts.module.css';

const words = forecastWords.result;
const FanChart = later(async () => (await import('./fan-chart.tsx')).FanChart, 320);

interface ResultParts {
  /** Whether it was just run, or issued earlier and stored. */
  readonly origin: 'run' | 'issued';
  readonly derived: DerivedData;
  /** The recorded value of each point, null before it is recorded. Without it, no recorded values are shown. */
  readonly actuals?: readonly RecordedValue[] | undefined;
  /** Recorded values before the first point. */
  readonly before?: readonly RecordedValue[] | undefined;
}

export function ForecastResult({ origin, derived, actuals, before }: ResultParts) {
  const [asTable, setAsTable] = useState(false);
  const { fallback, data } = derived;
  return (
    <div data-testid={origin === 'run' ? 'result' : 'issued'} data-status={derived.processing_status}>
      <Group mb="sm">
        <Tag tone={derived.processing_status === 'produced' ? 'good' : 'warn'}>{words[derived.processing_status]}</Tag>
        <Expiry at={derived.expires_at} />
        <Button size="compact-sm" variant="default" ml="auto" onClick={() => setAsTable(!asTable)}>
          {asTable ? words.chartAgain : words.table}
        </Button>
      </Group>
      {fallback !== undefined && (
        <Notice tone="warn">
          {words.fallbackText(fallback.strategy, fallback.strategy_version, fallback.reason_code)}{' '}
          {words.fallbackData(fallback.source_feature, fullTime(fallback.based_on_data_through))}
        </Notice>
      )}
      {derived.warnings.length > 0 && (
        <Notice tone="warn">
          {words.warnings}: {derived.warnings.join(', ')}
        </Notice>
      )}
      {asTable ? (
        <PointTable data={data} actuals={actuals} />
      ) : (
        <FanChart output={data} before={before} actuals={actuals} label={chartLabel(data)} />
      )}
      <Explained derived={derived} />
      <Facts derived={derived} />
    </div>
  );
}

function chartLabel(data: DerivedData['data']): string {
  const first = data.points[0]?.timestamp ?? '';
  const last = data.points.at(-1)?.timestamp ?? '';
  return words.chart(`${data.target} [${data.unit}]`, data.points.length, fullTime(first), fullTime(last));
}

function Expiry({ at }: { at: string }) {
  const now = useNowMs();
  const atMs = Date.parse(at);
  const expired = atMs <= now;
  return (
    <Tag tone={expired ? 'bad' : 'info'} title={fullTime(at)}>
      {expired ? words.expired : words.expires(inWords(atMs, now))}
    </Tag>
  );
}

/** The basis of the forecast in one sentence. */
function Explained({ derived }: { derived: DerivedData }) {
  const seen = explanationOf(derived.processor.details);
  if (seen === null) return null;
  const { models, inputs, shift, lost, doubted } = seen;
  const shares = (of: typeof models): string =>
    of.map(({ name, share }) => `${name} ${Math.round(100 * share)} %`).join(', ');
  const said = [
    words.models(shares(models)),
    ...(inputs.length === 0 ? [] : [words.inputs(shares(inputs))]),
    ...(shift === null ? [] : [shiftText(shift, derived.data.unit)]),
    ...(lost.length === 0 ? [] : [words.lost(lost.join(', '))]),
    ...(doubted === 0 ? [] : [words.doubted(doubted)]),
  ];
  return (
    <p className={`${classes['soft']} ${classes['explained']}`} data-testid="explanation">
      {said.join(' ')}
    </p>
  );
}

function shiftText({ since, factor, added }: NonNullable<ExplanationSeen['shift']>, unit: string): string {
  const amount = factor === null ? withUnit(added, unit) : `× ${shownNumber(factor)}`;
  return words.shift(fullTime(since), amount);
}

function PointTable({ data, actuals }: { data: DerivedData['data']; actuals: ResultParts['actuals'] }) {
  const quantiles = data.points[0]?.quantiles?.map(({ probability }) => probability) ?? [];
  return (
    <div className={classes['scroll']} tabIndex={0} role="region" aria-label={chartLabel(data)}>
      <table className={classes['table']}>
        <thead>
          <tr>
            <th scope="col">{words.time}</th>
            <th scope="col">
              {words.value} [{data.unit}]
            </th>
            {actuals !== undefined && <th scope="col">{words.actual}</th>}
            {quantiles.map((probability) => (
              <th key={probability} scope="col">
                {words.quantile(shownNumber(probability * 100))}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.points.map((point, place) => (
            <tr key={point.timestamp}>
              <td>{fullTime(point.timestamp)}</td>
              <td>{shownNumber(point.value)}</td>
              {actuals !== undefined && <td>{shownNumber(actuals[place]?.value)}</td>}
              {point.quantiles?.map(({ probability, value }) => (
                <td key={probability}>{shownNumber(value)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Facts({ derived }: { derived: DerivedData }) {
  const { quality, processor, artifact } = derived;
  const facts: [string, string][] = [
    [words.issued, fullTime(derived.accepted_at)],
    [words.watermark, fullTime(quality.input_watermark)],
    [words.missing, `${shownNumber(quality.missing_ratio * 100)} %`],
    [words.gap, shownDuration(quality.max_gap_seconds * 1000)],
    [words.substituted, String(quality.substituted_samples)],
    [words.liveTail, quality.live_tail_included ? words.yes : words.no],
    [words.processor, `${processor.id} ${processor.version}`],
    ...(artifact === undefined ? [] : [[words.artifact, `${artifact.family} ${artifact.version}`] as [string, string]]),
    [words.digest, derived.input_digest],
    [words.ids, derived.result_id],
  ];
  return (
    <dl className={classes['facts']} aria-label={words.quality}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
