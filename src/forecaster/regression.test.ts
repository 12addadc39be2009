/** Nights of a plant: which covariates tell them, what is forecast for them, and that nothing is learned from them. */
import { describe, expect, test } from 'vitest';
import { treeDesign } from './design.ts';
import { type Ground, groundOf } from './ground.ts';
import { levels } from './levels.ts';
import { darkCells, lightOf } from './night.ts';
import { fittingPart } from './outlook.ts';
import { fitRegression, predictRegression } from './regression.ts';

const perDay = 24;
const days = 30;
const startMs = Date.UTC(2024, 4, 6) + 3_600_000;

/** A plant whose output follows the light, every third day under clouds that halve it; `floor` is its output at night. */
function plant(floor = 0, rounding = 0, horizon = perDay): Ground {
  const count = days * perDay;
  const light = Float64Array.from({ length: count + horizon }, (_, cell) => {
    const cloud = Math.floor(cell / perDay) % 3 === 0 ? 0.5 : 1;
    return cloud * Math.max(0, Math.sin((Math.PI * (((cell + 1) % perDay) - 6)) / 12));
  });
  const target = light.slice(0, count).map((value) => floor + 5 * value);
  const covariates = [
    { name: 'wind', values: light.map((_, cell) => 3 + Math.sin(cell / 7)) },
    { name: 'light', values: light.map((value, cell) => (value > 0 || cell % 5 > 0 ? value : -rounding)) },
  ];
  return groundOf({ startMs, cadenceMs: 3_600_000, count, horizon, target, covariates, timeZone: 'UTC' });
}

describe('light', () => {
  test('is the covariate whose zeros are zeros of the target, and none if nights are not empty', () => {
    expect(lightOf(plant())).toEqual([1]);
    expect(lightOf(plant(2))).toEqual([]);
    expect(lightOf(plant(0, 0.0009))).toEqual([1]);
    expect(lightOf(plant(0, 0.002))).toEqual([]);
  });

  test('is also given as its part of the clearest day around, and an hour before and after', () => {
    const ground = plant();
    const { names, columns } = treeDesign(ground, [1], 0, ground.sample.count);
    const column = (name: string): Float64Array => columns[names.indexOf(name)] ?? new Float64Array(0);
    const noon = 9 * perDay + 11;
    const light = ground.covariates[1] as Float64Array;
    expect(column('light.clearness')[noon]).toBeCloseTo(0.5);
    expect(column('light.clearness')[noon + perDay]).toBeCloseTo(1);
    expect(column('light.clearest')[noon]).toBeCloseTo(1);
    expect(column('light.clearness')[noon + 12]).toBeNaN();
    expect(column('light.hour_before')[noon]).toBe(light[noon - 1]);
    expect(column('light.hour_after')[noon]).toBe(light[noon + 1]);
    expect(names.some((name) => name.startsWith('wind.clear'))).toBe(false);
  });
});

describe('nights in a regression', () => {
  const ground = plant();
  const part = groundOf(fittingPart(ground.sample));
  const fit = fitRegression(part);

  test('are not learned from', () => {
    const { rows } = fit.bands.forest.plan;
    const dark = darkCells(part, [1]);
    expect(rows.length).toBeGreaterThan(0);
    expect(Array.from(rows).filter((row) => dark[row] === 1)).toEqual([]);
  });

  test('are zero ahead, and days follow the light', () => {
    const rows = predictRegression(fit, ground, 0);
    const { count } = ground.sample;
    const dark = darkCells(ground, [1]);
    for (const [step, row] of rows.entries()) {
      if (dark[count + step] === 1) expect(row).toEqual(new Float64Array(levels.length));
      else expect(row[levels.indexOf(0.5)]).toBeGreaterThan(0);
    }
    // The forecast day is the 31st, again under clouds.
    expect(rows[11]?.[levels.indexOf(0.5)]).toBeGreaterThan(2);
    expect(rows[11]?.[levels.indexOf(0.5)]).toBeLessThan(3);
  });
});

describe('a month ahead', () => {
  test('follows the light, is never below 0 in the dark, and does not fall with the level', () => {
    const ground = plant(0, 0, 30 * perDay);
    const { count, horizon } = ground.sample;
    const fit = fitRegression(groundOf(fittingPart(ground.sample)));
    const rows = predictRegression(fit, ground, 0);
    const dark = darkCells(ground, [1]);
    expect(rows).toHaveLength(horizon);
    for (const [step, row] of rows.entries()) {
      const light = ground.covariates[1]?.[count + step] ?? Number.NaN;
      if (dark[count + step] === 1) expect(row).toEqual(new Float64Array(levels.length));
      else expect(Math.abs((row[levels.indexOf(0.5)] ?? Number.NaN) - 5 * light)).toBeLessThan(1);
      expect(Array.from(row)).toEqual(Array.from(row).toSorted((a, b) => a - b));
    }
  });
});
