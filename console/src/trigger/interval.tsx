/** Runs again and again. */
import { useEditor } from '../editor/editor-context.ts';
import { NumberField } from '../parts/number-field.tsx';
import { t } from '../strings/index.ts';
import { said } from '../strings/language.ts';
import type { TriggerForm, TriggerView } from './view.ts';

const firstIntervalMs = 1000;

function IntervalForm({ fields, change, error }: TriggerForm) {
  const { readOnly } = useEditor();
  return (
    <NumberField
      label={t.editor.ruleForm.interval}
      value={typeof fields['interval_ms'] === 'number' ? fields['interval_ms'] : null}
      min={1}
      integer
      step={100}
      readOnly={readOnly}
      data-path="trigger/interval_ms"
      error={error('/interval_ms')}
      onChange={(value) => change({ interval_ms: value })}
    />
  );
}

export const intervalView: TriggerView = {
  label: said({ en: 'At an interval', de: 'In einem Intervall' }),
  run: said({ en: 'on schedule', de: 'nach Plan' }),
  starting: () => ({ type: 'interval', interval_ms: firstIntervalMs }),
  Form: IntervalForm,
};
