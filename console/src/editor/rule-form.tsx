/** Name, priority, cooldown and trigger of the rule [rules §1.1], [rules §3.1]. */
import { MultiSelect, Select, Textarea, TextInput } from '@mantine/core';
import { cooldownMsMax, priorityMax } from '../../../src/api/rule-limits.ts';
import { type Fields, isFields } from '../../../src/rules/issues.ts';
import { defaultIntervalMs } from '../../../src/rules/trigger/parse.ts';
import { shownDuration } from '../parts/number.ts';
import { NumberField } from '../parts/number-field.tsx';
import { t } from '../strings/index.ts';
import type { Content } from './draft-history.ts';
import { useDraft, useDraftStore } from './draft-store.ts';
import { useEditor } from './editor-context.ts';
import classes from './inspector.module.css';
import { pointChoices } from './point-picker.tsx';
import { problemsAt } from './problems.ts';
import { pointKey, pointOfKey } from './site-catalogue.ts';

const words = t.editor.ruleForm;
const firstIntervalMs = 1000;

export function RuleForm() {
  const store = useDraftStore();
  const { history } = useDraft();
  const { readOnly, problems } = useEditor();
  const content = history.present;
  const set = (members: Partial<Content>): void =>
    store.edit((before) => ({ ...before, ...members }), `rule ${Object.keys(members).join(' ')}`);
  return (
    <section className={classes['form']} aria-label={t.editor.panels.rule} data-testid="rule-form">
      <TextInput
        label={words.name}
        value={content.name}
        maxLength={128}
        readOnly={readOnly}
        data-path="/name"
        error={problemsAt(problems, 'rule', '/name')[0]?.message}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <Textarea
        label={words.description}
        value={content.description ?? ''}
        maxLength={2000}
        readOnly={readOnly}
        autosize
        minRows={2}
        onChange={(event) => set({ description: event.currentTarget.value === '' ? null : event.currentTarget.value })}
      />
      <NumberField
        label={words.priority}
        description={words.priorityHint}
        value={content.priority}
        min={0}
        max={priorityMax}
        required
        integer
        readOnly={readOnly}
        onChange={(value) => value !== null && set({ priority: value })}
      />
      <NumberField
        label={words.cooldown}
        description={words.cooldownHint}
        value={content.cooldown_ms}
        min={0}
        max={cooldownMsMax}
        required
        integer
        step={100}
        readOnly={readOnly}
        onChange={(value) => value !== null && set({ cooldown_ms: value })}
      />
      <TriggerForm trigger={content.trigger_config} cooldownMs={content.cooldown_ms} set={set} />
    </section>
  );
}

const kinds = ['none', 'interval', 'on_change'] as const;
type Kind = (typeof kinds)[number];

function starting(kind: Kind): object | null {
  if (kind === 'none') return null;
  if (kind === 'interval') return { type: 'interval', interval_ms: firstIntervalMs };
  return { type: 'on_change', point_refs: [], time_deadband_ms: 0, value_deadband: null };
}

interface TriggerParts {
  readonly trigger: object | null;
  readonly cooldownMs: number;
  readonly set: (members: Partial<Content>) => void;
}

function TriggerForm({ trigger, cooldownMs, set }: TriggerParts) {
  const { readOnly, problems } = useEditor();
  const fields: Fields = isFields(trigger) ? trigger : {};
  const kind = trigger === null ? 'none' : (kinds.find((known) => known === fields['type']) ?? 'none');
  const change = (members: Fields): void => set({ trigger_config: { ...fields, ...members } });
  const error = (path: string): string | undefined => problemsAt(problems, 'trigger', path)[0]?.message;
  return (
    <>
      <Select
        label={words.trigger}
        data={kinds.map((value) => ({ value, label: words.triggers[value] }))}
        value={kind}
        allowDeselect={false}
        readOnly={readOnly}
        data-path="trigger"
        description={
          kind === 'none'
            ? words.defaultHint(shownDuration(cooldownMs > 0 ? cooldownMs : defaultIntervalMs))
            : undefined
        }
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        onChange={(value) => set({ trigger_config: starting(kinds.find((known) => known === value) ?? 'none') })}
      />
      {kind === 'interval' && (
        <NumberField
          label={words.interval}
          value={typeof fields['interval_ms'] === 'number' ? fields['interval_ms'] : null}
          min={1}
          integer
          step={100}
          readOnly={readOnly}
          data-path="trigger/interval_ms"
          error={error('/interval_ms')}
          onChange={(value) => change({ interval_ms: value })}
        />
      )}
      {kind === 'on_change' && <OnChangeForm fields={fields} change={change} error={error} />}
    </>
  );
}

interface OnChangeParts {
  readonly fields: Fields;
  readonly change: (members: Fields) => void;
  readonly error: (path: string) => string | undefined;
}

const bands = ['none', 'absolute', 'percent'] as const;

function OnChangeForm({ fields, change, error }: OnChangeParts) {
  const { catalogue, readOnly } = useEditor();
  const refs = Array.isArray(fields['point_refs']) ? (fields['point_refs'] as unknown[]).filter(isFields) : [];
  const keys = refs.map((ref) =>
    pointKey({
      instance: Number(ref['instance']),
      point_type: ref['point_type'] === 'action' ? 'action' : 'measurement',
      point: Number(ref['point']),
    }),
  );
  const band = isFields(fields['value_deadband']) ? fields['value_deadband'] : null;
  const bandKind = bands.find((known) => known === band?.['type']) ?? 'none';
  return (
    <>
      <MultiSelect
        label={words.points}
        description={words.pointsHint}
        data={pointChoices(catalogue, 'read')}
        value={keys}
        searchable
        readOnly={readOnly}
        error={error('/point_refs') ?? keys.map((_, at) => error(`/point_refs/${at}`)).find(Boolean)}
        onChange={(next) =>
          change({
            point_refs: next.map((key) => {
              const { instance, point_type: kind, point } = pointOfKey(key);
              return { instance, point_type: kind, point };
            }),
          })
        }
      />
      <Select
        label={words.valueDeadband}
        data={bands.map((value) => ({ value, label: words.valueDeadbands[value] }))}
        value={bandKind}
        allowDeselect={false}
        readOnly={readOnly}
        onChange={(value) =>
          change({
            value_deadband:
              value === 'absolute' || value === 'percent' ? { type: value, threshold: band?.['threshold'] ?? 0 } : null,
          })
        }
      />
      {band !== null && (
        <NumberField
          label={bandKind === 'percent' ? words.thresholdPercent : words.threshold}
          value={typeof band['threshold'] === 'number' ? band['threshold'] : null}
          min={0}
          readOnly={readOnly}
          error={error('/value_deadband/threshold')}
          onChange={(value) => change({ value_deadband: { ...band, threshold: value } })}
        />
      )}
      <NumberField
        label={words.timeDeadband}
        description={words.timeDeadbandHint}
        value={typeof fields['time_deadband_ms'] === 'number' ? fields['time_deadband_ms'] : null}
        min={0}
        integer
        step={100}
        readOnly={readOnly}
        error={error('/time_deadband_ms')}
        onChange={(value) => change({ time_deadband_ms: value })}
      />
    </>
  );
}
