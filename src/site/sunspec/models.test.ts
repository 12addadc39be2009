/** SunSpec models [points §3.4]: their lengths, the offsets of what is read most, and that scales and names fit together. */
import { describe, expect, test } from 'vitest';
import { modelLength, placedPoints } from './layout.ts';
import type { SunSpecModel } from './model.ts';
import { packagedModels } from './models.ts';

const lengths: readonly (readonly [model: number, fixed: number, repeated: number])[] = [
  [1, 65, 0],
  [101, 50, 0],
  [102, 50, 0],
  [103, 50, 0],
  [111, 60, 0],
  [112, 60, 0],
  [113, 60, 0],
  [120, 26, 0],
  [121, 30, 0],
  [123, 24, 0],
  [124, 24, 0],
  [160, 8, 20],
  [201, 105, 0],
  [204, 105, 0],
  [211, 124, 0],
  [214, 124, 0],
  [701, 153, 0],
  [702, 50, 0],
  [703, 17, 0],
  [704, 65, 0],
  [713, 7, 0],
  [714, 18, 25],
  [802, 62, 0],
  [803, 26, 0],
];

function known(number: number): SunSpecModel {
  const model = packagedModels.get(number);
  if (model === undefined) throw new Error(`model ${number} is not known`);
  return model;
}

describe('[points §3.4] SunSpec models', () => {
  test.each(lengths)('model %d: %d registers, and %d of each repetition', (number, fixed, repeated) => {
    const model = known(number);
    const registers = modelLength(model, {}, 0);
    expect([registers, modelLength(model, {}, 1) - registers]).toEqual([fixed, repeated]);
  });

  test('every known range is whole', () => {
    const numbers = [...packagedModels.keys()];
    for (const [number, { model }] of packagedModels) expect(model).toBe(number);
    for (const range of [
      [101, 103],
      [111, 113],
      [201, 204],
      [211, 214],
      [701, 714],
      [802, 803],
    ] as const)
      for (let number = range[0]; number <= range[1]; number++) expect(numbers).toContain(number);
  });

  test('every scale is a scale factor of the same model, and every name is unique', () => {
    for (const { model, points, groups } of packagedModels.values()) {
      const repeated = groups.flatMap((group) => group.points);
      const scales = points.filter(({ type }) => type === 'sunssf').map(({ name }) => name);
      for (const point of [...points, ...repeated])
        if (point.scale !== undefined) expect(scales, `${model} ${point.name}`).toContain(point.scale);
      for (const group of [points, repeated]) {
        const names = group.map(({ name }) => name);
        expect(new Set(names).size, `model ${model}`).toBe(names.length);
      }
    }
  });

  test.each([
    [103, 'W', 12],
    [103, 'W_SF', 13],
    [103, 'WH', 22],
    [103, 'St', 36],
    [203, 'W', 16],
    [203, 'TotWhImp', 44],
    [203, 'TotWh_SF', 52],
    [213, 'W', 26],
    [123, 'WMaxLimPct', 3],
    [123, 'WMaxLim_Ena', 7],
    [124, 'ChaState', 6],
    [124, 'OutWRte', 10],
    [124, 'StorCtl_Mod', 3],
    [802, 'SoC', 9],
    [802, 'W', 45],
    [160, 'DCW[2]', 8 + 20 + 11],
    [713, 'SoC', 2],
  ])('model %d: %s is at offset %d', (number, name, offset) => {
    const points = placedPoints(known(number), { length: 200, counts: {} });
    expect(points.find((point) => point.name === name)?.offset).toBe(offset);
  });
});
