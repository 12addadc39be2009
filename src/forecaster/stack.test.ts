/** The weighted combination, and distributions stored at quantile levels. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SeededStream } from '../base/seeded.ts';
import { interpolate, levels, probabilityOf } from './levels.ts';
import { combine, stackWeights } from './stack.ts';

function noise(count: number, seed: number): Float64Array {
  const stream = new SeededStream(seed);
  return Float64Array.from({ length: count }, () => stream.next() - 0.5);
}

const rows = Int32Array.from({ length: 500 }, (_, row) => row);
const meanMiss = (target: Float64Array, own: Float64Array): number =>
  target.reduce((sum, value, row) => sum + Math.abs(value - (own[row] ?? 0)), 0) / target.length;

describe('weights', () => {
  test('they are never negative, sum to one, and miss no more than the best model by much', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 6 }), (seed, models) => {
        const target = noise(500, seed);
        const own = Array.from({ length: models }, (_, index) =>
          target.map((value, row) => value + (index + 1) * (noise(500, seed + index + 1)[row] ?? 0)),
        );
        const weights = stackWeights(own, target, rows);
        expect([...weights].every((weight) => weight >= 0)).toBe(true);
        expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 9);
        const best = Math.min(...own.map((each) => meanMiss(target, each)));
        expect(meanMiss(target, combine(own, weights))).toBeLessThan(1.05 * best);
      }),
      { numRuns: 20 },
    );
  });

  test('models whose errors cancel share the weight, a useless one gets almost none', () => {
    const target = noise(500, 1);
    const error = noise(500, 2);
    const own = [
      target.map((value, row) => value + (error[row] ?? 0)),
      target.map((value, row) => value - (error[row] ?? 0)),
      target.map((_, row) => 20 * (noise(500, 3)[row] ?? 0)),
    ];
    const [first = 0, second = 0, third = 0] = stackWeights(own, target, rows);
    expect(Math.abs(first - second)).toBeLessThan(0.1);
    expect(third).toBeLessThan(0.02);
  });

  test('a target that every model meets leaves the weights equal', () => {
    const flat = new Float64Array(500).fill(4);
    expect([...stackWeights([flat, flat], flat, rows)]).toEqual([0.5, 0.5]);
  });
});

describe('levels', () => {
  test('they rise, are symmetric and hold the median', () => {
    for (const [index, level] of levels.entries()) {
      expect(level).toBeGreaterThan(levels[index - 1] ?? 0);
      expect(level + (levels[levels.length - 1 - index] ?? 0)).toBeCloseTo(1, 12);
    }
    expect(levels).toContain(0.5);
  });

  test('reading a distribution at a probability and back gives the probability', () => {
    const quantiles = levels.map((level) => 3 + 5 * level);
    fc.assert(
      fc.property(fc.double({ min: 0.002, max: 0.998, noNaN: true }), (probability) => {
        expect(probabilityOf(quantiles, interpolate(levels, quantiles, probability))).toBeCloseTo(probability, 6);
      }),
    );
  });

  test('a mass at one value has the middle of its probabilities', () => {
    const quantiles = levels.map((level) => (level <= 0.6 ? 0 : level));
    const [least = 0] = levels;
    expect(probabilityOf(quantiles, 0)).toBeCloseTo((least + 0.6) / 2, 6);
    expect(probabilityOf(quantiles, -1)).toBe(0);
    expect(probabilityOf(quantiles, 2)).toBe(1);
  });
});
