/** Builds a condition from its parts: compared value, threshold, hysteresis, and duration. */
import { Button, Group, Select, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { isVariableName } from '../../../src/rules/expression/parse.ts';
import { useShownRun } from '../live/run-view.ts';
import { withUnit } from '../parts/number.ts';
import { NumberField } from '../parts/number-field.tsx';
import { conditionWords as words } from '../strings/condition.ts';
import { type BuiltCondition, conditionText, releasesBehind } from './condition-text.ts';
import classes from './inspector.module.css';
import { ThresholdChart } from './threshold-chart.tsx';
import type { VisibleName } from './visible-names.ts';

interface BuilderParts {
  readonly names: readonly VisibleName[];
  readonly onUse: (expression: string) => void;
}

function isOperand(text: string, names: readonly VisibleName[]): boolean {
  if (isVariableName(text)) return names.some(({ name }) => name === text);
  return text.trim() !== '' && Number.isFinite(Number(text));
}

function isRelease({ release }: BuiltCondition, names: readonly VisibleName[]): boolean {
  return release === '' || isOperand(release, names);
}

export function ConditionBuilder({ names, onUse }: BuilderParts) {
  const run = useShownRun();
  const [threshold, setThreshold] = useState<BuiltCondition>({
    name: '',
    side: 'above',
    value: '',
    release: '',
    seconds: 0,
  });
  const change = (parts: Partial<BuiltCondition>): void => setThreshold({ ...threshold, ...parts });
  const { name, side } = threshold;
  const { unit = '', point } = names.find((known) => known.name === name) ?? {};
  const live = run?.record.variable_values[name];
  const isWhole =
    name !== '' && isOperand(threshold.value, names) && isRelease(threshold, names) && releasesBehind(threshold);
  return (
    <fieldset className={classes['group']} data-testid="condition-builder">
      <legend className={classes['legend']}>{words.title}</legend>
      <Select
        label={words.compared}
        data={names.map((known) => ({ value: known.name, label: `${known.name} · ${known.source}` }))}
        value={name === '' ? null : name}
        searchable
        allowDeselect={false}
        description={typeof live === 'number' ? words.now(withUnit(live, unit)) : undefined}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        onChange={(next) => change({ name: next ?? '' })}
      />
      {point !== undefined && (
        <ThresholdChart
          point={point}
          unit={unit}
          threshold={
            threshold.value !== '' && Number.isFinite(Number(threshold.value)) ? Number(threshold.value) : null
          }
          onThreshold={(value) => change({ value: String(value) })}
        />
      )}
      <Select
        label={words.side}
        data={[
          { value: 'above', label: words.above },
          { value: 'below', label: words.below },
        ]}
        value={side}
        allowDeselect={false}
        onChange={(next) => change({ side: next === 'below' ? 'below' : 'above' })}
      />
      <NumberRow names={names} unit={unit} threshold={threshold} onChange={change} />
      <Text size="sm" className={classes['mono'] ?? ''} data-testid="built-condition">
        {isWhole ? conditionText(threshold) : words.incomplete}
      </Text>
      <Button size="compact-sm" w="fit-content" disabled={!isWhole} onClick={() => onUse(conditionText(threshold))}>
        {words.use}
      </Button>
    </fieldset>
  );
}

interface RowParts {
  readonly names: readonly VisibleName[];
  readonly unit: string;
  readonly threshold: BuiltCondition;
  readonly onChange: (parts: Partial<BuiltCondition>) => void;
}

function NumberRow({ names, unit, threshold, onChange }: RowParts) {
  const { side, value, release, seconds } = threshold;
  const withUnitOf = (label: string): string => (unit === '' || unit === '1' ? label : `${label} (${unit})`);
  const releaseFault = releasesBehind(threshold) ? undefined : words.releaseSide[side];
  return (
    <Group grow align="flex-start">
      <TextInput
        label={withUnitOf(words.value)}
        value={value}
        error={value !== '' && !isOperand(value, names) ? words.operand : undefined}
        onChange={({ currentTarget }) => onChange({ value: currentTarget.value.trim() })}
      />
      <TextInput
        label={withUnitOf(words.release)}
        value={release}
        error={isRelease(threshold, names) ? releaseFault : words.operand}
        onChange={({ currentTarget }) => onChange({ release: currentTarget.value.trim() })}
      />
      <NumberField
        label={words.seconds}
        value={seconds}
        min={0}
        required
        onChange={(next) => onChange({ seconds: next ?? 0 })}
      />
    </Group>
  );
}
