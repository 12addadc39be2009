/** One run of a task: its options, its result, or why it was refused. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError } from '../../../src/api/client.ts';
import type { DerivedData } from '../../../src/api/processing.ts';
import type { TaskDiscoveryEntry } from '../../../src/api/processing-discovery.ts';
import { nowMs } from '../clock.ts';
import { shownDuration } from '../parts/number.ts';
import { NumberField } from '../parts/number-field.tsx';
import { isWithin, type NumberRange } from '../parts/number-text.ts';
import { Notice } from '../parts/tag.tsx';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { forecastWords } from '../strings/forecasts.ts';
import { t } from '../strings/index.ts';
import { cutOf, latestCut, quantilesOf } from './as-of.ts';
import { issuedKey, runForecast, useIssued, useKept } from './forecast-queries.ts';
import { ForecastRefusal } from './forecast-refusal.tsx';
import { ForecastResult } from './forecast-result.tsx';
import classes from './forecasts.module.css';

const words = forecastWords;
const usualQuantiles = ['0.1', '0.25', '0.5', '0.75', '0.9'];

/** As many of the usual ones as the task allows, from the outside in. */
function startingQuantiles(max: number): string {
  if (max >= 5) return usualQuantiles.join(', ');
  if (max >= 3) return '0.1, 0.5, 0.9';
  return max >= 1 ? '0.5' : '';
}

function horizonRange({ max_horizon_steps: max }: TaskDiscoveryEntry['forecast']): NumberRange {
  return { integer: true, min: 1, max };
}

/** The input of a run as typed and as parsed, and the call itself. */
function useRunForm(entry: TaskDiscoveryEntry) {
  const { forecast } = entry;
  const [asOf, setAsOf] = useState(() => latestCut(forecast.cadence_ms, nowMs()));
  const [horizon, setHorizon] = useState<number | null>(forecast.max_horizon_steps);
  const [quantiles, setQuantiles] = useState(() => startingQuantiles(forecast.max_quantiles));
  const [asking, setAsking] = useState(false);
  const queries = useQueryClient();
  const cadence = shownDuration(forecast.cadence_ms);
  const cut = cutOf(asOf, forecast.cadence_ms, nowMs());
  const chosen = quantilesOf(quantiles, forecast.max_quantiles);
  const isComplete = cut !== null && chosen !== null && horizon !== null && isWithin(horizon, horizonRange(forecast));
  const run = useMutation({
    mutationFn: async (confirmed: boolean) => {
      if (!isComplete) throw new Error(words.run.badAsOf(cadence));
      return runForecast({ entry, asOf: cut, horizonSteps: horizon, quantiles: chosen, confirmed });
    },
    onSuccess: () => void queries.invalidateQueries({ queryKey: issuedKey(entry) }),
    // If the route requires a confirmation, the dialog asks for it and the run is sent again.
    onError: (error) => error instanceof ApiError && error.code === 'confirmation-required' && setAsking(true),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isComplete) return;
    if (entry.data_boundary === 'remote') setAsking(true);
    else run.mutate(false);
  };
  const fields = { cadence, asOf, setAsOf, horizon, setHorizon, quantiles, setQuantiles, cut, chosen, isComplete };
  return { ...fields, asking, setAsking, run, submit };
}

export function ForecastRun({ entry }: { entry: TaskDiscoveryEntry }) {
  const session = useSession();
  const mayRun = session.status !== 'out' && mayManage(session.facts.role);
  const form = useRunForm(entry);
  const { run, asking, setAsking } = form;
  const confirm = (): void => {
    setAsking(false);
    run.mutate(true);
  };
  return (
    <section className={classes['main']} aria-label={entry.task.id}>
      <TaskFacts entry={entry} />
      {mayRun ? <RunFields entry={entry} form={form} /> : <Notice tone="info">{words.run.needsRole}</Notice>}
      {run.isError && !asking && <ForecastRefusal error={run.error} />}
      {run.data !== undefined && !run.isPending && <RunResult entry={entry} derived={run.data} />}
      <ConfirmRun processor={entry.processor_id} asking={asking} onClose={() => setAsking(false)} onConfirm={confirm} />
    </section>
  );
}

/** With recorded values of the day before and since, if the site stores its forecasts. */
function RunResult({ entry, derived }: { entry: TaskDiscoveryEntry; derived: DerivedData }) {
  const issued = useIssued(entry, 0);
  const kept = useKept(derived.result_id, entry, issued.data?.entry?.result_id === derived.result_id);
  const recorded = kept.data?.derived?.result_id === derived.result_id ? kept.data : undefined;
  const { actuals, before } = recorded ?? {};
  return <ForecastResult origin="run" derived={derived} actuals={actuals} before={before} />;
}

interface FieldsParts {
  readonly entry: TaskDiscoveryEntry;
  readonly form: ReturnType<typeof useRunForm>;
}

function RunFields({ entry: { forecast }, form }: FieldsParts) {
  const { cadence, asOf, setAsOf, horizon, setHorizon, quantiles, setQuantiles, cut, chosen, isComplete } = form;
  const { run, submit } = form;
  return (
    <form onSubmit={submit} aria-label={words.run.title}>
      <div className={classes['form']}>
        <TextInput
          label={words.run.asOf}
          description={words.run.asOfHint(cadence)}
          value={asOf}
          error={cut === null ? words.run.badAsOf(cadence) : undefined}
          onChange={(event) => setAsOf(event.currentTarget.value)}
        />
        <NumberField
          label={words.run.horizon}
          description={horizon === null ? t.common.none : shownDuration(horizon * forecast.cadence_ms)}
          value={horizon}
          {...horizonRange(forecast)}
          onChange={setHorizon}
        />
        <TextInput
          label={words.run.quantiles}
          description={words.run.quantilesHint(forecast.max_quantiles)}
          value={quantiles}
          disabled={forecast.max_quantiles === 0}
          error={chosen === null ? words.run.badQuantiles(forecast.max_quantiles) : undefined}
          onChange={(event) => setQuantiles(event.currentTarget.value)}
        />
      </div>
      <Group mt="md">
        <Button type="submit" loading={run.isPending} disabled={!isComplete}>
          {words.run.submit}
        </Button>
        <Button variant="default" onClick={() => setAsOf(latestCut(forecast.cadence_ms, nowMs()))}>
          {words.run.latest}
        </Button>
        <Text size="sm" c="dimmed">
          {words.run.audited}
        </Text>
      </Group>
    </form>
  );
}

interface ConfirmParts {
  readonly processor: string;
  readonly asking: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}

function ConfirmRun({ processor, asking, onClose, onConfirm }: ConfirmParts) {
  return (
    <Modal
      opened={asking}
      onClose={onClose}
      title={words.confirm.title}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <Stack>
        <Text size="sm">{words.confirm.body(processor)}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t.common.cancel}
          </Button>
          <Button data-autofocus onClick={onConfirm}>
            {words.confirm.submit}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function TaskFacts({ entry }: { entry: TaskDiscoveryEntry }) {
  const { forecast, features } = entry;
  const inputs = features.map(
    ({ name, unit, role }) =>
      `${name}${unit === undefined || unit === '1' ? '' : ` [${unit}]`} (${words.task.roles[role]})`,
  );
  return (
    <>
      <h2 className={classes['heading']}>{entry.task.id}</h2>
      <dl className={classes['facts']}>
        <div>
          <dt>{words.task.target}</dt>
          <dd>
            {forecast.target.name} [{forecast.target.unit}], {forecast.target.sign_convention.replaceAll('_', ' ')}
          </dd>
        </div>
        <div>
          <dt>{words.task.processor}</dt>
          <dd>
            {entry.processor_id} {entry.processor_version}, {words.task.boundary[entry.data_boundary]}
          </dd>
        </div>
        <div>
          <dt>{words.task.inputs}</dt>
          <dd>{inputs.join(', ')}</dd>
        </div>
        <div>
          <dt>{words.task.fallbacks}</dt>
          <dd>{forecast.allowed_fallbacks.length === 0 ? t.common.none : forecast.allowed_fallbacks.join(', ')}</dd>
        </div>
      </dl>
    </>
  );
}
