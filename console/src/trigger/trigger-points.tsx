/** The choice of the points whose changes run a rule. */
import { MultiSelect } from '@mantine/core';
import { useEditor } from '../editor/editor-context.ts';
import { pointKey, pointOfKey } from '../editor/site-catalogue.ts';
import { longOptions } from '../parts/long-options.ts';
import { t } from '../strings/index.ts';

const words = t.editor.ruleForm;

interface TriggerPointsParts {
  /** As the trigger has them, which may be incomplete. */
  readonly refs: readonly Readonly<Record<string, unknown>>[];
  readonly error: string | undefined;
  readonly onChange: (refs: readonly Readonly<Record<string, unknown>>[]) => void;
}

export function TriggerPoints({ refs, error, onChange }: TriggerPointsParts) {
  const { catalogue, readOnly } = useEditor();
  const keys = refs.map((ref) =>
    pointKey({
      instance: Number(ref['instance']),
      point_type: ref['point_type'] === 'action' ? 'action' : 'measurement',
      point: Number(ref['point']),
    }),
  );
  return (
    <MultiSelect
      label={words.points}
      description={words.pointsHint}
      data={catalogue.choices.read}
      filter={longOptions}
      value={keys}
      searchable
      readOnly={readOnly}
      error={error}
      onChange={(next) =>
        onChange(
          next.map((key) => {
            const { instance, point_type: kind, point } = pointOfKey(key);
            return { instance, point_type: kind, point };
          }),
        )
      }
    />
  );
}
