/** Which registers of a Modbus device a scan reads [points §8.6]. */
import { NativeSelect, SimpleGrid } from '@mantine/core';
import { scanCountMaximum } from '../../../src/api/channels.ts';
import { NumberField } from '../parts/number-field.tsx';
import { isWithin, type NumberRange } from '../parts/number-text.ts';
import { deviceWords } from '../strings/devices.ts';
import type { ScanSpan } from './device-queries.ts';

const words = deviceWords.scan;

/** The fields as they were typed. */
export interface TypedSpan {
  readonly table: ScanSpan['table'];
  readonly from: number | null;
  readonly count: number | null;
  /** Null: the unit of the channel. */
  readonly unit: number | null;
}

export const firstSpan: TypedSpan = { table: 'holding', from: 0, count: 100, unit: null };

const ranges = {
  from: { integer: true, min: 0, max: 65_535 },
  count: { integer: true, min: 1, max: scanCountMaximum },
  unit: { integer: true, min: 0, max: 255 },
} as const satisfies Record<string, NumberRange>;

/** Null while a field is outside its range. */
export function scanOf({ table, from, count, unit }: TypedSpan): ScanSpan | null {
  if (from === null || !isWithin(from, ranges.from) || count === null || !isWithin(count, ranges.count)) return null;
  return unit === null || isWithin(unit, ranges.unit) ? { table, from, count, unit } : null;
}

interface FieldsParts {
  readonly span: TypedSpan;
  readonly onSpan: (span: TypedSpan) => void;
}

export function ScanFields({ span, onSpan }: FieldsParts) {
  const number = (name: keyof typeof ranges) => (
    <NumberField
      key={name}
      label={words.fields[name]}
      value={span[name]}
      {...ranges[name]}
      placeholder={name === 'unit' ? words.ownUnit : undefined}
      onChange={(value) => onSpan({ ...span, [name]: value })}
    />
  );
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }}>
      <NativeSelect
        label={words.fields.table}
        value={span.table}
        onChange={(event) => onSpan({ ...span, table: event.currentTarget.value as ScanSpan['table'] })}
        data={Object.entries(words.tables).map(([value, label]) => ({ value, label }))}
      />
      {number('from')}
      {number('count')}
      {number('unit')}
    </SimpleGrid>
  );
}
