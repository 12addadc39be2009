/** The fields of one test: what is given, and what the rule is expected to decide. */
import { Checkbox, NativeSelect, Text, TextInput } from '@mantine/core';
import { nameMax } from '../../../src/api/rule-limits.ts';
import type { Outcome } from '../../../src/rules/record.ts';
import type { PointRef } from '../../../src/site/catalogue.ts';
import { type ConsoleCatalogue, pointText } from '../editor/site-catalogue.ts';
import { localTimeOf, utcOf } from '../parts/local-time.ts';
import { NumberField } from '../parts/number-field.tsx';
import { outcomeOf } from '../rules/rule-words.ts';
import { evidenceWords } from '../strings/evidence.ts';
import classes from './evidence.module.css';
import type { TestDraft } from './evidence-queries.ts';
import type { NodeNames } from './node-names.ts';

const words = evidenceWords.tests;
const outcomes: readonly Outcome[] = ['acted', 'no_action', 'skipped', 'failed'];

interface FormParts {
  readonly test: TestDraft;
  readonly catalogue: ConsoleCatalogue;
  /** The points that the rule may write. */
  readonly actuators: readonly Actuator[];
  readonly nodeName: NodeNames;
  readonly readOnly: boolean;
  readonly onChange: (test: TestDraft) => void;
}

export function TestForm(parts: FormParts) {
  return (
    <div className={classes['columns']}>
      <Given {...parts} />
      <Expected {...parts} />
    </div>
  );
}

function Given({ test, catalogue, readOnly, onChange }: FormParts) {
  const { at: _, ...timeless } = test;
  const { parameters = {} } = test;
  return (
    <div className={classes['column']}>
      <TextInput
        label={words.name}
        maxLength={nameMax}
        readOnly={readOnly}
        value={test.name}
        onChange={(event) => onChange({ ...test, name: event.currentTarget.value })}
      />
      <TextInput
        type="datetime-local"
        step={1}
        label={words.at}
        description={words.atHint}
        readOnly={readOnly}
        value={test.at === undefined ? '' : localTimeOf(test.at)}
        onChange={(event) => {
          const at = utcOf(event.currentTarget.value);
          onChange(at === null ? timeless : { ...test, at });
        }}
      />
      <Text fw={600} size="sm">
        {words.given}
      </Text>
      {test.given.map((entry, index) => (
        <NumberField
          key={`${entry.instance}:${entry.point_type}:${entry.point}`}
          label={pointText(entry, catalogue)}
          placeholder={words.noValue}
          readOnly={readOnly}
          value={entry.value}
          onChange={(value) =>
            onChange({ ...test, given: test.given.map((each, at) => (at === index ? { ...each, value } : each)) })
          }
        />
      ))}
      {Object.keys(parameters).length > 0 && (
        <Text fw={600} size="sm">
          {words.parameters}
        </Text>
      )}
      {Object.entries(parameters).map(([name, value]) => (
        <NumberField
          key={name}
          label={name}
          required
          readOnly={readOnly}
          value={value}
          onChange={(next) => next !== null && onChange({ ...test, parameters: { ...parameters, [name]: next } })}
        />
      ))}
    </div>
  );
}

function Expected({ test, catalogue, actuators, nodeName, readOnly, onChange }: FormParts) {
  const { then } = test;
  const { writes, outcome, output } = then;
  /** At least one thing is compared. */
  const isOnly = Object.keys(then).length === 1;
  const change = (next: TestDraft['then']): void => onChange({ ...test, then: next });
  const without = (name: keyof TestDraft['then']): void =>
    change(Object.fromEntries(Object.entries(then).filter(([key]) => key !== name)));
  return (
    <div className={classes['column']}>
      <Text fw={600} size="sm">
        {words.then}
      </Text>
      <NativeSelect
        label={words.outcome}
        disabled={readOnly}
        value={outcome ?? ''}
        data={[
          { value: '', label: words.anything, disabled: isOnly && outcome !== undefined },
          ...outcomes.map((value) => ({ value, label: outcomeOf(value).text })),
        ]}
        onChange={(event) => {
          const chosen = outcomes.find((name) => name === event.currentTarget.value);
          if (chosen === undefined) without('outcome');
          else change({ ...then, outcome: chosen });
        }}
      />
      {output !== undefined && (
        <Checkbox
          label={`${words.output}: ${nodeName(output.node_id)} → ${output.name}`}
          checked
          disabled={readOnly || isOnly}
          onChange={() => without('output')}
        />
      )}
      <Checkbox
        label={words.compareWrites}
        checked={writes !== undefined}
        disabled={readOnly || (isOnly && writes !== undefined)}
        onChange={() => (writes === undefined ? change({ ...then, writes: [] }) : without('writes'))}
      />
      {writes !== undefined &&
        expectable(actuators, writes).map((ref) => (
          <NumberField
            key={`${ref.instance}:${ref.point}`}
            label={pointText({ ...ref, point_type: 'action' }, catalogue)}
            placeholder={words.notWritten}
            readOnly={readOnly}
            value={writes.find((write) => isSame(write, ref))?.value ?? null}
            onChange={(value) => {
              const others = writes.filter((write) => !isSame(write, ref));
              change({ ...then, writes: value === null ? others : [...others, { ...ref, value }] });
            }}
          />
        ))}
    </div>
  );
}

export type Actuator = Pick<PointRef, 'instance' | 'point'>;

function isSame(one: Actuator, other: Actuator): boolean {
  return one.instance === other.instance && one.point === other.point;
}

/** Each point once: those that the rule may write, then others that the test names. */
function expectable(actuators: readonly Actuator[], writes: readonly Actuator[]): Actuator[] {
  const all = [...actuators, ...writes].map(({ instance, point }) => ({ instance, point }));
  return all.filter((ref, index) => all.findIndex((other) => isSame(other, ref)) === index);
}
