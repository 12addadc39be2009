/** Choosing a point of the site: by instance and name, with kind, unit and range beside it. */
import { Group, Select, Text } from '@mantine/core';
import type { PointRef } from '../../../src/site/catalogue.ts';
import { longOptions } from '../parts/long-options.ts';
import { shownNumber } from '../parts/number.ts';
import { t } from '../strings/index.ts';
import { type ConsoleCatalogue, type ConsolePoint, pointKey, pointOfKey } from './site-catalogue.ts';

const words = t.nodes;

/** Unit and range in words: "kW, -250 … 250 kW". */
function pointFacts({ unit, min, max }: ConsolePoint): string {
  const shownUnit = unit === '1' ? '' : unit;
  if (min === undefined && max === undefined) return shownUnit;
  return words.range(
    min === undefined ? '−∞' : shownNumber(min),
    max === undefined ? '∞' : shownNumber(max),
    shownUnit,
  );
}

interface PickerParts {
  readonly label: string;
  readonly catalogue: ConsoleCatalogue;
  readonly use: 'read' | 'write';
  readonly value: PointRef | null;
  readonly error: string | undefined;
  readonly path: string;
  readonly readOnly: boolean;
  readonly onChange: (point: ConsolePoint) => void;
}

export function PointPicker({ label, catalogue, use, value, error, path, readOnly, onChange }: PickerParts) {
  const chosen = value === null ? undefined : catalogue.point(value);
  const unknown = value !== null && chosen === undefined;
  return (
    <Select
      label={label}
      placeholder={unknown ? words.noPoint : words.pointHint}
      data={catalogue.choices[use]}
      filter={longOptions}
      value={chosen === undefined ? null : pointKey(chosen)}
      searchable
      allowDeselect={false}
      readOnly={readOnly}
      error={error}
      data-path={path}
      description={chosen === undefined ? undefined : pointFacts(chosen)}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      maxDropdownHeight={320}
      nothingFoundMessage={words.noPoint}
      renderOption={({ option }) => {
        const point = catalogue.point(pointOfKey(option.value));
        return (
          <Group justify="space-between" gap="sm" w="100%" wrap="nowrap">
            <Text size="sm">{option.label}</Text>
            <Text size="xs" c="dimmed">
              {point === undefined ? '' : pointFacts(point)}
            </Text>
          </Group>
        );
      }}
      onChange={(key) => {
        const point = key === null ? undefined : catalogue.point(pointOfKey(key));
        if (point !== undefined) onChange(point);
      }}
    />
  );
}
