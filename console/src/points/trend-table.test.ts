/** The trends that a page shows as CSV, as another program reads it. */
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { trendTable } from './trend-table.ts';

const at = (minute: number): string => `2026-11-30T14:0${minute}:00.000Z`;
const trend = (unit: string, means: readonly (readonly [number, number])[]) => ({
  from: at(0),
  to: at(9),
  bucket_seconds: 60,
  unit,
  buckets: means.map(([minute, mean]) => ({
    t: at(minute),
    mean,
    min: mean - 1,
    max: mean + 1,
    last: mean,
    observations: 1,
  })),
});

test('a row per bucket, in the order of time; a bucket without a value is empty', () => {
  const text = trendTable([
    {
      name: 'battery soc',
      trend: trend('%', [
        [1, 50.5],
        [3, 51],
      ]),
    },
    {
      name: 'pv, "roof" state',
      trend: trend('1', [
        [0, -2],
        [3, 1e21],
      ]),
    },
  ]);
  expect(parse(text)).toEqual([
    ['time', 'battery soc mean [%]', 'battery soc min [%]', 'battery soc max [%]'].concat(
      ['mean', 'min', 'max'].map((what) => `pv, "roof" state ${what}`),
    ),
    [at(0), '', '', '', '-2', '-3', '-1'],
    [at(1), '50.5', '49.5', '51.5', '', '', ''],
    [at(3), '51', '50', '52', '1e+21', '1e+21', '1e+21'],
  ]);
});

test('without a value there is the heading alone', () => {
  expect(trendTable([{ name: 'tank level', trend: trend('m', []) }])).toBe(
    'time,tank level mean [m],tank level min [m],tank level max [m]\r\n',
  );
});
