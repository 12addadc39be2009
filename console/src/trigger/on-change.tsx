/** Runs when points change. */
import { Select } from '@mantine/core';
import { isFields } from '../../../src/rules/issues.ts';
import { useEditor } from '../editor/editor-context.ts';
import { later } from '../parts/later.tsx';
import { NumberField } from '../parts/number-field.tsx';
import { t } from '../strings/index.ts';
import { said } from '../strings/language.ts';
import type { TriggerForm, TriggerView } from './view.ts';

const words = t.editor.ruleForm;
/** Loaded on demand: a multi-select is larger than the rest of a trigger's form, and only this trigger has one. */
const TriggerPoints = later(async () => (await import('./trigger-points.tsx')).TriggerPoints, 80);
const bands = ['none', 'absolute', 'percent'] as const;

function OnChangeForm({ fields, change, error }: TriggerForm) {
  const { readOnly } = useEditor();
  const refs = Array.isArray(fields['point_refs']) ? (fields['point_refs'] as unknown[]).filter(isFields) : [];
  const band = isFields(fields['value_deadband']) ? fields['value_deadband'] : null;
  const bandKind = bands.find((known) => known === band?.['type']) ?? 'none';
  return (
    <>
      <TriggerPoints
        refs={refs}
        error={error('/point_refs') ?? refs.map((_, at) => error(`/point_refs/${at}`)).find(Boolean)}
        onChange={(next) => change({ point_refs: next })}
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

export const onChangeView: TriggerView = {
  label: said({ en: 'When points change', de: 'Wenn sich Punkte ändern' }),
  run: said({ en: 'on change', de: 'bei Änderung' }),
  starting: () => ({ type: 'on_change', point_refs: [], time_deadband_ms: 0, value_deadband: null }),
  Form: OnChangeForm,
};
