/** Name, priority, cooldown and trigger of the rule [rules §1.1], [rules §3.1]. */
import { Select, Textarea, TextInput } from '@mantine/core';
import { cooldownMsMax, priorityMax } from '../../../src/api/rule-limits.ts';
import { type Fields, isFields } from '../../../src/rules/issues.ts';
import { triggerTypes } from '../../../src/rules/trigger/index.ts';
import { defaultIntervalMs } from '../../../src/rules/trigger/parse.ts';
import { shownDuration } from '../parts/number.ts';
import { NumberField } from '../parts/number-field.tsx';
import { t } from '../strings/index.ts';
import { triggerView } from '../trigger/index.ts';
import type { Content } from './draft-history.ts';
import { useDraft, useDraftStore } from './draft-store.ts';
import { useEditor } from './editor-context.ts';
import classes from './inspector.module.css';
import { problemsAt } from './problems.ts';

const words = t.editor.ruleForm;

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
        description={words.tagsHint}
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

const defaultKind = 'default';

interface TriggerParts {
  readonly trigger: object | null;
  readonly cooldownMs: number;
  readonly set: (members: Partial<Content>) => void;
}

function TriggerForm({ trigger, cooldownMs, set }: TriggerParts) {
  const { readOnly, problems } = useEditor();
  const fields: Fields = isFields(trigger) ? trigger : {};
  const kind = triggerTypes.find((known) => known === fields['type']);
  const Form = kind === undefined ? null : triggerView(kind).Form;
  const change = (members: Fields): void => set({ trigger_config: { ...fields, ...members } });
  const error = (path: string): string | undefined => problemsAt(problems, 'trigger', path)[0]?.message;
  return (
    <>
      <Select
        label={words.trigger}
        data={[
          { value: defaultKind, label: words.defaultTrigger },
          ...triggerTypes.map((value) => ({ value, label: triggerView(value).label })),
        ]}
        value={kind ?? defaultKind}
        allowDeselect={false}
        readOnly={readOnly}
        data-path="trigger"
        description={
          kind === undefined
            ? words.defaultHint(shownDuration(cooldownMs > 0 ? cooldownMs : defaultIntervalMs))
            : undefined
        }
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        onChange={(value) => {
          const chosen = triggerTypes.find((known) => known === value);
          set({ trigger_config: chosen === undefined ? null : triggerView(chosen).starting() });
        }}
      />
      {Form !== null && <Form fields={fields} change={change} error={error} />}
    </>
  );
}
