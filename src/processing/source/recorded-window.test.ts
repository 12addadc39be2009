/** Records in another unit, and counters as power [data-processing §4.11]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WindowAnswer } from '../../historian/historian.ts';
import type { RecordedSource } from '../commission/commissioned.ts';
import { inTaskUnit, recordedWindow } from './recorded-window.ts';

const source = (more: Partial<RecordedSource>): RecordedSource => ({
  kind: 'recorded',
  series: { instance: 1, point: 1 },
  pointIndex: 0,
  sourceRef: 'meter',
  aggregation: 'mean',
  duplicatePolicy: 'latest',
  factor: 1,
  isCounter: false,
  ...more,
});
const answer = (cells: readonly number[], uncertain: readonly number[] = cells.map(() => 0)): WindowAnswer => ({
  cells: Float64Array.from(cells),
  uncertainCells: Uint8Array.from(uncertain),
  watermarkMs: 5,
  rows: cells.length,
  skewedRows: 0,
  skewedSpan: null,
  outOfRangeRows: 0,
  outOfRangeSpan: null,
  firstDuplicateMs: null,
  trend: null,
});
const asked = {
  asOfMs: 3_600_000,
  cadenceMs: 900_000,
  steps: 4,
  maxSourceSkewMs: 0,
  range: { minimum: 0, maximum: 500 },
};
const quarter = 900_000;

describe('[data-processing §4.11] units and counters', () => {
  test('a record in W for a task in kW: values and bounds, each the right way', () => {
    const inWatts = source({ factor: 0.001 });
    expect(recordedWindow(inWatts, asked)).toMatchObject({
      steps: 4,
      aggregation: 'mean',
      range: { minimum: 0, maximum: 500_000 },
    });
    expect([...inTaskUnit(inWatts, quarter, answer([1500, Number.NaN])).cells]).toEqual([1.5, Number.NaN]);
    expect(recordedWindow(source({}), asked).range).toEqual(asked.range);
  });

  test('a counter is read one interval further back, by its last values, without the bounds of a power', () => {
    const window = recordedWindow(source({ isCounter: true }), asked);
    expect(window).toMatchObject({ steps: 5, aggregation: 'last', asOfMs: asked.asOfMs });
    expect(window.range).toBeUndefined();
  });

  test('its growth is the power; a gap and a reset have none; uncertainty affects both sides', () => {
    const found = inTaskUnit(
      source({ isCounter: true }),
      quarter,
      answer([100, 101, 101, Number.NaN, 103, 2, 2.5], [0, 0, 1, 0, 0, 0, 0]),
    );
    expect([...found.cells]).toEqual([4, 0, Number.NaN, Number.NaN, Number.NaN, 2]);
    expect([...found.uncertainCells]).toEqual([0, 1, 1, 0, 0, 0]);
  });

  test('a counter of any powers gives them back', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 50 }), (powers) => {
        const counts = [0];
        for (const power of powers) counts.push((counts.at(-1) ?? 0) + power / 4);
        expect([...inTaskUnit(source({ isCounter: true }), quarter, answer(counts)).cells]).toEqual(powers);
      }),
    );
  });
});
