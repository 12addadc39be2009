/** Runs when points change. */
import { MultiSelect, Select } from '@mantine/core';
import { isFields } from '../../../src/rules/issues.ts';
import { useEditor } from '../editor/editor-context.ts';
import { pointKey, pointOfKey } from '../editor/site-catalogue.ts';
import { longOptions } from '../parts/long-options.ts';
import { NumberField } from '../parts/number-field.tsx';
import { t } from '../strings/index.ts';
import { said } from '../strings/language.ts';
import type { TriggerForm, TriggerView } from './view.ts';

const words = t.editor.ruleForm;
const bands = ['none', 'absolute', 'percent'] as const;

function OnChangeForm({ fields, change, error }: TriggerForm) {
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
        data={catalogue.choices.read}
        filter={longOptions}
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

export const onChangeView: TriggerView = {
  label: said({ en: 'When points change', de: 'Wenn sich Punkte ändern' }),
  run: said({ en: 'on change', de: 'bei Änderung' }),
  starting: () => ({ type: 'on_change', point_refs: [], time_deadband_ms: 0, value_deadband: null }),
  Form: OnChangeForm,
};
