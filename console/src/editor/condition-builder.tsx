/** Builds a condition from its parts: compared value, threshold, hysteresis, and duration. */
import { Button, Group, Select, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { isVariableName } from '../../../src/rules/expression/parse.ts';
import { useShownRun } from '../live/run-view.ts';
import { withUnit } from '../parts/number.ts';
import { NumberField } from '../parts/number-field.tsx';
import { meaningsOf, typedNumber, writtenNumber } from '../parts/number-text.ts';
import { conditionWords as words } from '../strings/condition.ts';
import { t } from '../strings/index.ts';
import { type BuiltCondition, conditionText, releasesBehind } from './condition-text.ts';
import classes from './inspector.module.css';
import { ThresholdChart } from './threshold-chart.tsx';
import type { VisibleName } from './visible-names.ts';

interface BuilderParts {
  readonly names: readonly VisibleName[];
  readonly onUse: (expression: string) => void;
}

/** What was typed as an operand of an expression, whose numbers have a decimal point; null if it is neither a number nor a known name. */
function operandOf(typed: string, names: readonly VisibleName[]): string | null {
  if (isVariableName(typed)) return names.some(({ name }) => name === typed) ? typed : null;
  const value = typedNumber(typed);
  return value === null ? null : String(value);
}

/** The condition; null while an operand is missing or wrong. */
function builtOf(typed: BuiltCondition, names: readonly VisibleName[]): BuiltCondition | null {
  const value = operandOf(typed.value, names);
  const release = typed.release === '' ? '' : operandOf(typed.release, names);
  return value === null || release === null ? null : { ...typed, value, release };
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
  const built = builtOf(threshold, names);
  const text = name !== '' && built !== null && releasesBehind(built) ? conditionText(built) : null;
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
          threshold={typedNumber(threshold.value)}
          onThreshold={(value) => change({ value: writtenNumber(value) })}
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
        {text ?? words.incomplete}
      </Text>
      <Button size="compact-sm" w="fit-content" disabled={text === null} onClick={() => onUse(text ?? '')}>
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
  const built = builtOf(threshold, names);
  const releaseFault = built === null || releasesBehind(built) ? undefined : words.releaseSide[side];
  const operandFault = (typed: string): string | undefined => {
    if (typed === '' || operandOf(typed, names) !== null) return undefined;
    const meanings = meaningsOf(typed);
    return meanings === null ? words.operand : t.common.numberMeanings(meanings.whole, meanings.fraction);
  };
  return (
    <Group grow align="flex-start">
      <TextInput
        label={withUnitOf(words.value)}
        value={value}
        error={operandFault(value)}
        onChange={({ currentTarget }) => onChange({ value: currentTarget.value.trim() })}
      />
      <TextInput
        label={withUnitOf(words.release)}
        value={release}
        error={operandFault(release) ?? releaseFault}
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
