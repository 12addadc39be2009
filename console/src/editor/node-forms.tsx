/** The form of each kind of node: its `config` [rules §4.2] as fields. */
import { Select, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { isVariableName } from '../../../src/rules/expression/parse.ts';
import type { Fields } from '../../../src/rules/issues.ts';
import type { NodeField, PartName } from '../node/view.ts';
import { withUnit } from '../parts/number.ts';
import { NumberField } from '../parts/number-field.tsx';
import { t } from '../strings/index.ts';
import { DecisionForm } from './decision-form.tsx';
import { drawnFlow, useDraft, useDraftStore } from './draft-store.ts';
import { setConfig } from './edit-flow.ts';
import { declarations, type NamePlace, renameVariable } from './edit-names.ts';
import { useEditor, useFieldErrors } from './editor-context.ts';
import { AddEntry, EntryGroup, type NodeForm, RemoveEntry, useEntries, useNames } from './entry-list.tsx';
import { ExpressionField } from './expression-field.tsx';
import { configOf, textOf } from './flow-document.ts';
import classes from './inspector.module.css';
import { type NameFault, NameField } from './name-field.tsx';
import { PointPicker } from './point-picker.tsx';
import { configPath } from './problems.ts';
import { declaredNames } from './visible-names.ts';

const words = t.nodes;

function pointRef(entry: Fields, kind: 'measurement' | 'action') {
  const { instance, point, point_type: given } = entry;
  if (typeof instance !== 'number' || typeof point !== 'number') return null;
  return { instance, point, point_type: given === 'action' || given === 'measurement' ? given : kind };
}

/** A name for expressions, derived from the point's. */
function nameFor(pointName: string, taken: readonly string[]): string {
  const base =
    pointName
      .toLowerCase()
      .replaceAll(/[^a-z0-9_]+/g, '_')
      .replace(/^[^a-z]+/, '') || 'value';
  const usable = isVariableName(base) ? base : `${base}_value`;
  if (!taken.includes(usable)) return usable;
  for (let number = 2; ; number++) if (!taken.includes(`${usable}_${number}`)) return `${usable}_${number}`;
}

function InputForm(form: NodeForm) {
  const { catalogue, readOnly } = useEditor();
  const variables = useEntries(form, 'variables');
  const parameters = useEntries(form, 'parameters');
  const taken = declaredNames(form.node, catalogue).map(({ name }) => name);
  return (
    <>
      <EntryGroup legend={words.variables}>
        {variables.entries.map((entry, at) => (
          <div key={at} className={classes['entry']}>
            <div className={classes['entryHead']}>
              <PointPicker
                label={words.point}
                catalogue={catalogue}
                use="read"
                value={pointRef(entry, 'measurement')}
                path={variables.path(at, 'point')}
                error={variables.error(at, 'point') ?? variables.error(at, 'instance', false)}
                readOnly={readOnly}
                onChange={(point) => {
                  const { instance, point_type: kind, point: id } = point;
                  const named = textOf(entry['name']) === '' ? { name: nameFor(point.name, taken) } : {};
                  variables.change(at, { ...named, instance, point_type: kind, point: id });
                }}
              />
              <RemoveEntry name={textOf(entry['name'])} onRemove={() => variables.remove(at)} />
            </div>
            <div className={classes['entryHead']}>
              <VariableField
                form={form}
                label={words.variable}
                place={{ list: 'variables', at }}
                name={textOf(entry['name'])}
                path={variables.path(at, 'name')}
                error={variables.error(at, 'name')}
              />
              <NumberField
                label={words.maxAge}
                title={words.maxAgeHint}
                w={120}
                min={1}
                integer
                readOnly={readOnly}
                data-path={variables.path(at, 'max_age_ms')}
                error={variables.error(at, 'max_age_ms')}
                value={typeof entry['max_age_ms'] === 'number' ? entry['max_age_ms'] : null}
                onChange={(value) => variables.change(at, { max_age_ms: value ?? undefined })}
              />
            </div>
          </div>
        ))}
        <AddEntry label={words.addVariable} onAdd={() => variables.add({ name: '' })} />
      </EntryGroup>
      <EntryGroup legend={words.parameters}>
        {parameters.entries.map((entry, at) => (
          <div key={at} className={classes['entry']}>
            <div className={classes['entryHead']}>
              <Select
                label={words.parameter}
                searchable
                allowDeselect={false}
                readOnly={readOnly}
                data={catalogue.parameters.map(({ name }) => name)}
                value={textOf(entry['parameter']) || null}
                data-path={parameters.path(at, 'parameter')}
                error={parameters.error(at, 'parameter', false)}
                description={parameterFacts(catalogue.parameter(textOf(entry['parameter'])))}
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                onChange={(parameter) => {
                  if (parameter === null) return;
                  const named = textOf(entry['name']) === '' ? { name: nameFor(parameter, taken) } : {};
                  parameters.change(at, { ...named, parameter });
                }}
              />
              <RemoveEntry name={textOf(entry['name'])} onRemove={() => parameters.remove(at)} />
            </div>
            <VariableField
              form={form}
              label={words.variable}
              place={{ list: 'parameters', at }}
              name={textOf(entry['name'])}
              path={parameters.path(at, 'name')}
              error={parameters.error(at, 'name')}
            />
          </div>
        ))}
        <AddEntry label={words.addParameter} onAdd={() => parameters.add({ name: '' })} />
      </EntryGroup>
    </>
  );
}

interface VariableParts {
  readonly form: NodeForm;
  readonly label: string;
  readonly place: NamePlace;
  readonly name: string;
  readonly path: string;
  readonly error: string | undefined;
  readonly description?: string | undefined;
}

/** The name of a variable that the node declares; its uses follow a new name. */
function VariableField({ form: { node }, place, ...parts }: VariableParts) {
  const store = useDraftStore();
  const { history } = useDraft();
  const { readOnly } = useEditor();
  const flow = drawnFlow(history.present);
  const faultOf = (text: string): NameFault | null => {
    if (!isVariableName(text))
      return { message: text === '' ? words.nameFaults.empty : words.nameFaults.variable, onLeave: false };
    return declarations(flow, text) === 0 ? null : { message: words.nameFaults.declared, onLeave: true };
  };
  return (
    <NameField
      {...parts}
      readOnly={readOnly}
      inputClass={classes['mono']}
      faultOf={faultOf}
      onRename={(to) =>
        store.editFlow((document) => renameVariable(document, node.id, place, to), `${node.id} ${parts.path}`)
      }
    />
  );
}

function parameterFacts(facts: { value: number; unit: string | undefined } | undefined): string | undefined {
  return facts === undefined ? undefined : withUnit(facts.value, facts.unit);
}

function CalculationForm(form: NodeForm) {
  const { readOnly } = useEditor();
  const outer = useNames(form);
  const { catalogue } = useEditor();
  const { entries, error, path, change, add, remove } = useEntries(form, 'assignments');
  const own = declaredNames(form.node, catalogue);
  return (
    <EntryGroup legend={words.assignments}>
      {entries.map((entry, at) => (
        <div key={at} className={classes['entry']}>
          <div className={classes['entryHead']}>
            <VariableField
              form={form}
              label={words.variable}
              place={{ list: 'assignments', at }}
              name={textOf(entry['name'])}
              path={path(at, 'name')}
              error={error(at, 'name', false)}
            />
            <RemoveEntry name={textOf(entry['name'])} onRemove={() => remove(at)} />
          </div>
          <ExpressionField
            label={words.expression}
            value={textOf(entry['expression'])}
            names={[...own.slice(0, at), ...outer]}
            readOnly={readOnly}
            path={path(at, 'expression')}
            error={error(at, 'expression')}
            onChange={(expression) => change(at, { expression })}
          />
        </div>
      ))}
      <AddEntry label={words.addAssignment} onAdd={() => add({ name: '', expression: '' })} />
    </EntryGroup>
  );
}

/** A plain number is stored as a number. */
function typedValue(text: string): number | string {
  const value = Number(text);
  return /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/.test(text.trim()) && String(value) === text.trim() ? value : text;
}

function ActionForm(form: NodeForm) {
  const { catalogue, readOnly } = useEditor();
  const names = useNames(form);
  const { entries, error, path, change, add, remove } = useEntries(form, 'writes');
  return (
    <EntryGroup legend={words.writes}>
      {entries.map((entry, at) => (
        <div key={at} className={classes['entry']}>
          <div className={classes['entryHead']}>
            <PointPicker
              label={words.point}
              catalogue={catalogue}
              use="write"
              value={pointRef(entry, 'action')}
              path={path(at, 'point')}
              error={error(at, 'point') ?? error(at, 'instance', false)}
              readOnly={readOnly}
              onChange={({ instance, point_type: kind, point }) => change(at, { instance, point_type: kind, point })}
            />
            <RemoveEntry name={words.write(at + 1)} onRemove={() => remove(at)} />
          </div>
          <ExpressionField
            label={words.value}
            description={words.valueHint}
            value={textOf(entry['value'])}
            names={names}
            readOnly={readOnly}
            path={path(at, 'value')}
            error={error(at, 'value')}
            onChange={(text) => change(at, { value: typedValue(text) })}
          />
        </div>
      ))}
      <AddEntry label={words.addWrite} onAdd={() => add({ value: '' })} />
    </EntryGroup>
  );
}

/** Members that are one value each. */
export function FieldsForm({ fields, ...form }: NodeForm & { readonly fields: readonly NodeField[] }) {
  return fields.map((field) => <FieldControl key={field.name} field={field} {...form} />);
}

function FieldControl({ field, ...form }: NodeForm & { readonly field: NodeField }) {
  const store = useDraftStore();
  const { readOnly } = useEditor();
  const errorAt = useFieldErrors();
  const names = useNames(form);
  const { node, index } = form;
  const { name, label, hint, control } = field;
  const value = textOf(configOf(node)[name]);
  const path = configPath(index, name);
  const common = {
    label,
    readOnly,
    'data-path': path,
    error: errorAt(path),
    ...(hint === undefined ? {} : { description: hint }),
  };
  const set = (next: string | undefined): void =>
    store.editFlow((flow) => setConfig(flow, node.id, name, next), `${node.id} ${name}`);
  if (control === 'name')
    return (
      <VariableField
        form={form}
        place={{ field: name }}
        name={value}
        label={label}
        description={hint}
        path={path}
        error={common.error}
      />
    );
  if (control === 'text')
    return (
      <TextInput
        {...common}
        value={value}
        onChange={({ currentTarget }) => set(currentTarget.value === '' ? undefined : currentTarget.value)}
      />
    );
  const choices =
    control === 'variable'
      ? [...new Set([...names.map((known) => known.name), ...(value === '' ? [] : [value])])]
      : Object.entries(control).map(([choice, words]) => ({ value: choice, label: words }));
  return (
    <Select
      {...common}
      data={choices}
      value={value === '' ? null : value}
      allowDeselect={false}
      onChange={(next) => set(next ?? '')}
    />
  );
}

/** The form of each list of a node; that of variables covers parameters too. */
export const partForms: { readonly [K in PartName]?: (form: NodeForm) => ReactNode } = {
  variables: InputForm,
  branches: DecisionForm,
  assignments: CalculationForm,
  writes: ActionForm,
};
