/** "Try it here": the draft, evaluated in the page on values that are typed, or that the rule reads now. Nothing is sent. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Topology } from '../../../src/rules/topology.ts';
import { nowMs } from '../clock.ts';
import type { Content } from '../editor/draft-history.ts';
import { type ConsoleCatalogue, pointLabel } from '../editor/site-catalogue.ts';
import { RunDetails } from '../history/run-details.tsx';
import { type AnyRecord, useShownRun } from '../live/run-view.ts';
import { useLastRun } from '../live/stream.ts';
import { announce } from '../parts/announce.tsx';
import { NumberField } from '../parts/number-field.tsx';
import { Notice } from '../parts/tag.tsx';
import { useRuleVariables } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { evaluateTrial } from './evaluate.ts';
import { preparedTrial, readsOf } from './trial-rule.ts';

const words = t.runs.trial;

interface TrialParts {
  readonly ruleId: number;
  readonly revision: number;
  readonly content: Content;
  readonly topology: Topology | null;
  readonly catalogue: ConsoleCatalogue;
  readonly onResult: (record: AnyRecord | null) => void;
}

type TrialRead = ReturnType<typeof readsOf>[number];
type TrialValues = ReadonlyMap<number, number | null>;

/** The default inputs of a trial: live values, else those of the last run. */
function useFill(reads: readonly TrialRead[], ruleId: number, setValues: (values: TrialValues) => void): () => void {
  const variables = useRuleVariables(ruleId);
  const lastRun = useLastRun(ruleId);
  return () => {
    const next = new Map<number, number | null>();
    for (const { point, names } of reads) {
      const live = variables.data?.find(
        (each) =>
          each.instance === point.instance && each.point === point.point && each.point_type === point.point_type,
      );
      const run = names.split(', ').map((name) => lastRun?.variable_values[name]);
      next.set(point.index, live?.value ?? run.find((value) => typeof value === 'number') ?? null);
    }
    setValues(next);
    announce([...next.values()].includes(null) ? words.notAvailable : words.filled);
  };
}

export function TrialPanel(parts: TrialParts) {
  const { ruleId, topology, catalogue, content, onResult } = parts;
  const [values, setValues] = useState<TrialValues>(new Map());
  const [time, setTime] = useState('');
  const [elapsedSeconds, setElapsedSeconds] = useState(1);
  const [evaluations, setEvaluations] = useState(0);
  const lastMs = useRef(0);
  const rule = useMemo(
    () => preparedTrial(parts),
    [topology, catalogue, content.trigger_config, content.cooldown_ms, content.priority],
  );
  const reads = useMemo(() => (topology === null ? [] : readsOf(topology, catalogue)), [topology, catalogue]);
  const fill = useFill(reads, ruleId, setValues);
  const shown = useShownRun();
  // Reset the state when the draft changes.
  useEffect(() => setEvaluations(0), [rule]);
  useEffect(() => () => onResult(null), [onResult]);
  if (rule === null) return <Notice tone="warn">{words.cannot}</Notice>;

  const at = time === '' ? nowMs() : Date.parse(time);
  const evaluate = (): void => {
    lastMs.current += elapsedSeconds * 1000;
    onResult(evaluateTrial(rule, { values, wallMs: at, monotonicMs: lastMs.current }));
    setEvaluations(evaluations + 1);
  };
  const forget = (): void => {
    for (const memory of rule.state) memory.length = 0;
    setEvaluations(0);
  };
  return (
    <Stack gap="sm" data-testid="trial">
      <Notice tone="info" role="note">
        {words.lead}
      </Notice>
      <TrialInputs reads={reads} values={values} onFill={fill} onChange={setValues} />
      <TextInput
        type="datetime-local"
        step={1}
        label={words.time}
        description={words.timeHint}
        value={time}
        error={Number.isFinite(at) ? undefined : words.badTime}
        onChange={(event) => setTime(event.currentTarget.value)}
      />
      {rule.compiled.sites.length > 0 && (
        <TrialMemory
          elapsedSeconds={elapsedSeconds}
          onElapsed={setElapsedSeconds}
          evaluations={evaluations}
          onForget={forget}
        />
      )}
      <Button onClick={evaluate} disabled={!Number.isFinite(at)}>
        {words.evaluate}
      </Button>
      {shown?.kind === 'trial' && (
        <section aria-label={words.result}>
          <RunDetails record={shown.record} kind="trial" catalogue={catalogue} />
        </section>
      )}
    </Stack>
  );
}

interface InputsParts {
  readonly reads: readonly TrialRead[];
  readonly values: TrialValues;
  readonly onFill: () => void;
  readonly onChange: (values: TrialValues) => void;
}

function TrialInputs({ reads, values, onFill, onChange }: InputsParts) {
  return (
    <>
      <Group gap="xs">
        <Button size="compact-sm" variant="default" onClick={onFill} disabled={reads.length === 0}>
          {words.fill}
        </Button>
      </Group>
      {reads.length === 0 && <Text size="sm">{words.noInputs}</Text>}
      {reads.map(({ point, names }) => (
        <NumberField
          key={point.index}
          label={`${names} (${pointLabel(point)}${point.unit === '1' ? '' : `, ${point.unit}`})`}
          placeholder={words.missing}
          value={values.get(point.index) ?? null}
          onChange={(value) => onChange(new Map(values).set(point.index, value))}
        />
      ))}
    </>
  );
}

interface MemoryParts {
  readonly elapsedSeconds: number;
  readonly onElapsed: (seconds: number) => void;
  readonly evaluations: number;
  readonly onForget: () => void;
}

/** Of a rule whose functions remember: how much time passes between evaluations, and how many there were. */
function TrialMemory({ elapsedSeconds, onElapsed, evaluations, onForget }: MemoryParts) {
  return (
    <>
      <NumberField
        label={words.elapsed}
        min={0}
        required
        value={elapsedSeconds}
        onChange={(value) => value !== null && onElapsed(value)}
      />
      <Text size="xs" c="dimmed">
        {words.memoryHint}
      </Text>
      <Group gap="xs">
        <Text size="xs">{words.memory(evaluations)}</Text>
        <Button size="compact-xs" variant="default" onClick={onForget}>
          {words.forget}
        </Button>
      </Group>
    </>
  );
}
