/** Points as a CSV table [points §1.2]: one row per point, columns as the members of a point in site.yaml, `address.*` for its address. */
import { CsvError, parse } from 'csv-parse/sync';
import type { ImportedPoint } from '../../site/site-edit.ts';
import { CommandError } from '../exit.ts';

const required = ['instance', 'point', 'name', 'kind', 'unit', 'channel'] as const;
/** Their cells are text, even if they look like numbers. */
const textColumns: ReadonlySet<string> = new Set([
  'instance_name',
  'name',
  'kind',
  'unit',
  'channel',
  'sign_convention',
  'address.topic',
  'address.path',
  'address.point',
  'address.signal',
]);
const number = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;

/** Throws a CommandError with one line per fault. */
export function readPointsTable(text: string, name: string): ImportedPoint[] {
  const { rows, decimal } = parsed(text, name);
  const header = rows[0]?.cells ?? [];
  const missing = required.filter((column) => !header.includes(column));
  if (missing.length > 0) throw new CommandError(`${name}:1: the header lacks ${missing.join(', ')}`);
  const doubled = header.filter((column, at) => header.indexOf(column) !== at);
  if (doubled.length > 0) throw new CommandError(`${name}:1: duplicate column in the header: ${doubled.join(', ')}`);
  const faults: string[] = [];
  const points = rows.slice(1).map(({ cells, line: row }): ImportedPoint => {
    const values = new Map(header.map((column, place) => [column, cells[place] ?? '']));
    if (!/^[0-9]{1,10}$/.test(values.get('instance') ?? ''))
      faults.push(`${name}:${row}: instance must be a whole number`);
    for (const column of required) if (values.get(column) === '') faults.push(`${name}:${row}: ${column} is empty`);
    return {
      row,
      instance: Number(values.get('instance')),
      instanceName: values.get('instance_name') || null,
      point: pointOf(values, decimal),
    };
  });
  if (faults.length > 0) throw new CommandError(faults.join('\n'));
  return points;
}

interface Table {
  readonly rows: readonly { readonly cells: readonly string[]; readonly line: number }[];
  /** A table whose columns are separated by semicolons may have decimals with a comma. */
  readonly decimal: 'point' | 'comma or point';
}

function parsed(text: string, name: string): Table {
  const [header = ''] = text.split('\n', 1);
  const separated = header.includes(';') && !header.includes(',');
  try {
    const options = { bom: true, skip_empty_lines: true, trim: true, info: true, delimiter: separated ? ';' : ',' };
    const records = parse(text, options) as unknown as {
      readonly record: string[];
      readonly info: { readonly lines: number };
    }[];
    return {
      rows: records.map(({ record, info }) => ({ cells: record, line: info.lines })),
      decimal: separated ? 'comma or point' : 'point',
    };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CommandError(`${name}: ${error.message}`);
  }
}

function pointOf(values: ReadonlyMap<string, string>, decimal: Table['decimal']): Record<string, unknown> {
  const point: Record<string, unknown> = {};
  const address: Record<string, unknown> = {};
  for (const [column, text] of values) {
    if (text === '' || column === 'instance' || column === 'instance_name') continue;
    const value = valueOf(column, text, decimal);
    if (column === 'point') point['id'] = value;
    else if (column.startsWith('address.')) address[column.slice('address.'.length)] = value;
    else point[column] = value;
  }
  return Object.keys(address).length === 0 ? point : { ...point, address };
}

function valueOf(column: string, given: string, decimal: Table['decimal']): unknown {
  if (textColumns.has(column)) return given;
  const text = decimal === 'point' ? given : given.replace(',', '.');
  if (column === 'invalid') return text.split(/\s+/).map(Number);
  if (text === 'true' || text === 'false') return text === 'true';
  return number.test(text) ? Number(text) : text;
}
