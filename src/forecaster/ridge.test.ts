/** Ridge regression against its closed form, which rows its folds may use, and the sums that it starts from. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SeededStream } from '../base/seeded.ts';
import type { TrainingPlan } from './learning.ts';
import { solveSymmetric } from './linear-solve.ts';
import { equationsAt, normalEquationsOf, standardOf } from './normal-equations.ts';
import { fitRidge } from './ridge.ts';

function planOf(target: Float64Array, foldCount: number): TrainingPlan {
  return {
    rows: Int32Array.from(target, (_, row) => row),
    target,
    weight: new Float64Array(target.length).fill(1),
    fold: Uint8Array.from(target, (_, row) => row % foldCount),
    foldCount,
  };
}

function noise(count: number, seed: number): Float64Array {
  const stream = new SeededStream(seed);
  return Float64Array.from({ length: count }, () => stream.next() - 0.5);
}

const hoursOf = (count: number): Float64Array => Float64Array.from({ length: count }, (_, row) => row % 24);

describe('symmetric systems', () => {
  test('a solution put back gives the right side', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 1e6 }), (size, seed) => {
        const root = noise(size * size, seed);
        const matrix = new Float64Array(size * size);
        for (let i = 0; i < size; i++)
          for (let j = 0; j < size; j++) {
            let sum = i === j ? 0.1 : 0;
            for (let k = 0; k < size; k++) sum += (root[i * size + k] ?? 0) * (root[j * size + k] ?? 0);
            matrix[i * size + j] = sum;
          }
        const right = noise(size, seed + 1);
        const solution = right.slice();
        expect(solveSymmetric(matrix.slice(), solution, size)).toBe(true);
        for (let i = 0; i < size; i++) {
          let sum = 0;
          for (let j = 0; j < size; j++) sum += (matrix[i * size + j] ?? 0) * (solution[j] ?? 0);
          expect(sum).toBeCloseTo(right[i] ?? 0, 8);
        }
      }),
    );
  });

  test('a matrix that is not positive definite is refused', () => {
    expect(solveSymmetric(Float64Array.of(1, 0, 2, 1), Float64Array.of(1, 1), 2)).toBe(false);
  });
});

describe('normal equations', () => {
  test('of each fold and slot they are the sums over its rows, for any number of rows', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 1e6 }), (count, seed) => {
        const columns = [noise(count, seed), noise(count, seed + 1)];
        const plan = { ...planOf(noise(count, seed + 2), 2), weight: noise(count, seed + 3).map(Math.abs) };
        const { units, parts } = normalEquationsOf(columns, hoursOf(count), plan, 3);
        for (const [fold, slots] of parts.entries())
          for (const [slot, { matrix, vector, weight }] of slots.entries()) {
            const rows = [...plan.rows].filter((row) => row % 2 === fold && Math.floor((row % 24) / 8) === slot);
            const cell = (row: number, place: number): number => (place === 0 ? 1 : (units[place - 1]?.[row] ?? 0));
            const sumOf = (value: (row: number) => number): number =>
              rows.reduce((sum, row) => sum + (plan.weight[row] ?? 0) * value(row), 0);
            expect(weight).toBeCloseTo(
              sumOf(() => 1),
              9,
            );
            for (let i = 0; i < 3; i++) {
              expect(vector[i]).toBeCloseTo(
                sumOf((row) => cell(row, i) * (plan.target[row] ?? 0)),
                9,
              );
              for (let j = 0; j <= i; j++)
                expect(matrix[3 * i + j]).toBeCloseTo(
                  sumOf((row) => cell(row, i) * cell(row, j)),
                  9,
                );
            }
          }
      }),
    );
  });

  test('those of some columns are the ones that these columns have alone', () => {
    const columns = Array.from({ length: 4 }, (_, index) => noise(90, 30 + index));
    const plan = planOf(noise(90, 8), 3);
    const alone = normalEquationsOf([columns[0] ?? noise(90, 1), columns[3] ?? noise(90, 1)], hoursOf(90), plan, 6);
    expect(equationsAt(normalEquationsOf(columns, hoursOf(90), plan, 6), [0, 3])).toEqual(alone);
  });
});

describe('ridge', () => {
  test('one column, one slot: the closed form of shrunk least squares', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.constantFrom(0.01, 0.3, 2), (seed, penalty) => {
        const x = noise(60, seed);
        const target = x.map((value, row) => 3 * value + (noise(60, seed + 7)[row] ?? 0));
        const plan = planOf(target, 2);
        const model = fitRidge(normalEquationsOf([x], hoursOf(60), plan, 1), {
          slots: 1,
          reach: 0,
          penalties: [penalty],
        });
        const { mean, scale } = standardOf([x], plan.rows, plan.weight);
        const unit = x.map((value) => (value - (mean[0] ?? 0)) * (scale[0] ?? 0));
        const slope = unit.reduce((sum, value, row) => sum + value * (target[row] ?? 0), 0) / (60 * (1 + penalty));
        const middle = target.reduce((sum, value) => sum + value, 0) / (60 * (1 + 1e-3 * penalty));
        const predicted = model.predict([x], hoursOf(60));
        for (let row = 0; row < 60; row++) expect(predicted[row]).toBeCloseTo(middle + slope * (unit[row] ?? 0), 6);
      }),
    );
  });

  test('an out-of-fold prediction does not depend on the targets of its own fold', () => {
    const x = noise(80, 3);
    const target = x.map((value) => 2 * value + 1);
    const other = target.map((value, row) => (row % 4 === 1 ? value + 100 : value));
    const shape = { slots: 1, reach: 0, penalties: [0.1] };
    const first = fitRidge(normalEquationsOf([x], hoursOf(80), planOf(target, 4), 1), shape).outOfFold;
    const second = fitRidge(normalEquationsOf([x], hoursOf(80), planOf(other, 4), 1), shape).outOfFold;
    for (let row = 1; row < 80; row += 4) expect(second[row]).toBe(first[row]);
    expect(second[0]).not.toBe(first[0]);
  });

  test('of the given penalties the one with the smallest out-of-fold error is used', () => {
    const columns = Array.from({ length: 20 }, (_, index) => noise(40, 100 + index));
    const target = noise(40, 5);
    const shape = { slots: 1, reach: 0 };
    const error = (penalties: number[]): number =>
      fitRidge(normalEquationsOf(columns, hoursOf(40), planOf(target, 4), 1), { ...shape, penalties }).outOfFold.reduce(
        (sum, value, row) => sum + Math.abs(value - (target[row] ?? 0)),
        0,
      );
    expect(error([0.001, 1, 100])).toBe(Math.min(error([0.001]), error([1]), error([100])));
  });

  test('a column without spread and a missing cell add nothing', () => {
    const x = noise(50, 9);
    const target = x.map((value) => 5 * value);
    const flat = new Float64Array(50).fill(7);
    const shape = { slots: 1, reach: 0, penalties: [0.01] };
    const alone = fitRidge(normalEquationsOf([x], hoursOf(50), planOf(target, 2), 1), shape).predict([x], hoursOf(50));
    const both = fitRidge(normalEquationsOf([x, flat], hoursOf(50), planOf(target, 2), 1), shape);
    expect([...both.predict([x, flat], hoursOf(50))].map((value) => value.toFixed(9))).toEqual(
      [...alone].map((value) => value.toFixed(9)),
    );
    const holes = both.predict([new Float64Array(50).fill(Number.NaN), flat], hoursOf(50));
    expect(holes.every(Number.isFinite)).toBe(true);
  });
});
