/** The weights of a robust fit: what counts less, compared with which errors, and what a fit with them gains. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SeededStream } from '../base/seeded.ts';
import type { TrainingPlan } from './learning.ts';
import { normalEquationsOf } from './normal-equations.ts';
import { fitRidge } from './ridge.ts';
import { robustWeights } from './robust-weights.ts';

const hoursOf = (count: number): Float64Array => Float64Array.from({ length: count }, (_, row) => row % 24);

function planOf(target: Float64Array, weight = new Float64Array(target.length).fill(1)): TrainingPlan {
  const rows = Int32Array.from(target.keys()).filter((row) => !Number.isNaN(target[row]));
  return { rows, target, weight, fold: Uint8Array.from(target, (_, row) => row % 4), foldCount: 4 };
}

const zeros = (count: number): Float64Array => new Float64Array(count);

describe('robust weights', () => {
  test('a row missed by more than the median counts for less, in proportion; the others keep their weight', () => {
    // Ten days in which every hour is missed by 1, but one hour by 4.
    const target = Float64Array.from({ length: 240 }, (_, row) => (row === 100 ? -4 : 1));
    const weight = Float64Array.from(target, (_, row) => 1 + row / 240);
    const found = robustWeights(planOf(target, weight), zeros(240), hoursOf(240));
    expect(found[100]).toBeCloseTo((weight[100] ?? 0) / 4, 12);
    expect([...found].filter((own, row) => own !== weight[row])).toHaveLength(1);
  });

  test('errors are compared within an hour and the hours beside it', () => {
    // Large errors by day, small ones at night.
    const isDay = (row: number): boolean => row % 24 >= 8 && row % 24 < 20;
    const target = Float64Array.from({ length: 240 }, (_, row) => (isDay(row) ? 100 : 1));
    const found = robustWeights(planOf(target), zeros(240), hoursOf(240));
    expect(new Set(found)).toEqual(new Set([1]));
    const midnight = target.slice();
    midnight[120] = 10;
    expect(robustWeights(planOf(midnight), zeros(240), hoursOf(240))[120]).toBeCloseTo(0.1, 12);
  });

  test('hours that are met exactly keep their weights, and cells without a target are not looked at', () => {
    const target = Float64Array.from({ length: 240 }, (_, row) => (row % 24 < 6 ? 0 : row % 5));
    target[30] = 7;
    target[31] = Number.NaN;
    const plan = planOf(target);
    const fitted = target.map((value, row) => (row === 26 ? 3 : value));
    const found = robustWeights(plan, fitted, hoursOf(240));
    expect([...found]).toEqual([...plan.weight]);
  });

  test('no weight grows, and none of a row that counts becomes zero', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 30, max: 300 }), (seed, count) => {
        const stream = new SeededStream(seed);
        const target = Float64Array.from({ length: count }, () => (stream.next() - 0.5) ** 9);
        const found = robustWeights(planOf(target), zeros(count), hoursOf(count));
        for (const own of found) {
          expect(own).toBeGreaterThan(0);
          expect(own).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  test('a ridge with them is nearer to the line that some rows leave', () => {
    const stream = new SeededStream(5);
    const x = Float64Array.from({ length: 480 }, () => stream.next());
    // Every seventh row lies far above the line.
    const line = x.map((value) => 2 * value);
    const target = line.map((value, row) => value + 0.1 * (stream.next() - 0.5) + (row % 7 === 0 ? 5 : 0));
    const plan = planOf(target);
    const hours = hoursOf(480);
    const fit = (weight?: Float64Array) =>
      fitRidge(normalEquationsOf([x], hours, plan, 1, weight), { slots: 1, reach: 0, penalties: [1e-3] });
    const off = (values: Float64Array): number =>
      values.reduce((sum, value, row) => sum + Math.abs(value - (line[row] ?? 0)), 0) / 480;
    const least = fit();
    const robust = fit(robustWeights(plan, least.outOfFold, hours));
    expect(off(least.predict([x], hours))).toBeGreaterThan(0.6);
    expect(off(robust.predict([x], hours))).toBeLessThan(0.2);
  });
});
