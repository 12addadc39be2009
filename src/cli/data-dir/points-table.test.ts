/** Points as a table [points §1.2]. */
import { describe, expect, test } from 'vitest';
import { readPointsTable } from './points-table.ts';

const header = 'instance,point,name,kind,unit,channel';
const read = (text: string) => readPointsTable(text, 'points.csv');

describe('[points §1.2] points as a table', () => {
  test('text stays text, numbers and booleans are recognized, and empty cells are absent', () => {
    const [point] = read(
      `\uFEFF${header},instance_name,scale,record,invalid,max_age_ms,address.topic,address.path\r\n7,1,"power, L1",measurement,1,broker,Meter 7,0.001,true,-32768 65535,,42,$.p\r\n\r\n`,
    );
    expect(point).toEqual({
      row: 2,
      instance: 7,
      instanceName: 'Meter 7',
      point: {
        id: 1,
        name: 'power, L1',
        kind: 'measurement',
        unit: '1',
        channel: 'broker',
        scale: 0.001,
        record: true,
        invalid: [-32_768, 65_535],
        address: { topic: '42', path: '$.p' },
      },
    });
  });

  test('semicolons separate where the header has no comma; decimals may then have a comma; rows are lines', () => {
    const points = read(
      `${header.replaceAll(',', ';')};scale;invalid\n1;1;a, b;measurement;kW;c;0,001;-1 2\n\n1;2;b;measurement;kW;c;0.5;\n`,
    );
    expect(points.map(({ row, instanceName, point }) => [row, instanceName, point['name'], point['scale']])).toEqual([
      [2, null, 'a, b', 0.001],
      [4, null, 'b', 0.5],
    ]);
    const [{ point: between } = { point: {} }] = read(`${header},scale\n1,1,a,measurement,kW,c,"0,5"\n`);
    expect(between).toMatchObject({ scale: '0,5' });
  });

  test.each([
    [
      'an instance that is not a number',
      `${header}\nx,1,a,measurement,kW,c\n`,
      'points.csv:2: instance must be a whole number',
    ],
    ['a column that is missing', 'instance,point,name,kind,unit\n', 'points.csv:1: the header lacks channel'],
    ['a duplicate column', `${header},unit\n`, 'points.csv:1: duplicate column in the header: unit'],
    ['an empty cell', `${header}\n1,1,a,measurement,,c\n`, 'points.csv:2: unit is empty'],
    ['a row with too few cells', `${header}\n1,1,a\n`, 'points.csv: Invalid Record Length'],
    ['a quote that does not end', `${header}\n1,1,"a,measurement,kW,c\n`, 'points.csv: Quote Not Closed'],
  ])('%s is refused', (_, text, reason) => {
    expect(() => read(text)).toThrow(reason);
  });

  test('every empty cell is named, not the first alone', () => {
    expect(() => read(`${header}\n1,1,,measurement,,c\n1,2,b,measurement,kW,\n`)).toThrow(
      'points.csv:2: name is empty\npoints.csv:2: unit is empty\npoints.csv:3: channel is empty',
    );
  });
});
