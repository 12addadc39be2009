/** Networks that give quantiles: what they learn, what they are judged by, and that they are the same each time. */
import { describe, expect, test } from 'vitest';
import type { TrainingPlan } from './learning.ts';
import { levels } from './levels.ts';
import { fitNetworks } from './network.ts';
import { SeededStream } from './seeded.ts';

const count = 960;
const dayRows = 24;

function noise(seed: number): Float64Array {
  const stream = new SeededStream(seed);
  return Float64Array.from({ length: count }, () => stream.next());
}

const hours = Float64Array.from({ length: count }, (_, row) => (row % dayRows) + 0.5);

function planOf(target: Float64Array): TrainingPlan {
  return {
    rows: Int32Array.from(target, (_, row) => row),
    target,
    weight: new Float64Array(count).fill(1),
    fold: Uint8Array.from(target, (_, row) => Math.floor(row / dayRows) % 5),
    foldCount: 5,
  };
}

const quantile = (row: Float64Array | undefined, level: number): number => row?.[levels.indexOf(level)] ?? Number.NaN;

describe('quantile networks', () => {
  const [first, second, spread] = [noise(1), noise(2), noise(3)];
  // Where `second` is large the target scatters widely: from 0 to 40 above the line that `first` draws.
  const target = first.map((value, row) => 100 * value + 40 * (second[row] ?? 0) * (spread[row] ?? 0));
  const { networks, unseen } = fitNetworks([first, second], hours, planOf(target));
  const probe = (low: number, high: number): Float64Array | undefined =>
    networks.predict([Float64Array.of(low), Float64Array.of(high)], Float64Array.of(12.5))[0];

  test('follow the target, and are as wide as it scatters there', () => {
    const narrow = probe(0.5, 0.05);
    const wide = probe(0.5, 0.95);
    expect(Math.abs(quantile(narrow, 0.5) - 51)).toBeLessThan(4);
    expect(Math.abs(quantile(wide, 0.5) - 69)).toBeLessThan(4);
    expect(quantile(narrow, 0.9) - quantile(narrow, 0.1)).toBeLessThan(10);
    expect(quantile(wide, 0.9) - quantile(wide, 0.1)).toBeGreaterThan(22);
    expect(quantile(probe(0.1, 0.05), 0.5)).toBeLessThan(quantile(probe(0.9, 0.05), 0.5) - 60);
  });

  test('do not cross, not even far from what they have seen', () => {
    for (const row of [probe(0.5, 0.5), probe(-20, 30), probe(Number.NaN, Number.NaN)]) {
      expect(Array.from(row ?? [])).toEqual(Array.from(row ?? [Number.NaN]).toSorted((a, b) => a - b));
      expect(row?.every(Number.isFinite)).toBe(true);
    }
  });

  test('judge a row by the network that had not seen its days', () => {
    // The targets of one fold in the opposite order: its own network must not notice, the others must.
    const { fold } = planOf(target);
    const own = Array.from(target, (_, row) => row).filter((row) => fold[row] === 0);
    const turned = target.slice();
    for (const [index, row] of own.entries()) turned[row] = target[own.at(-1 - index) ?? 0] ?? Number.NaN;
    const other = fitNetworks([first, second], hours, planOf(turned));
    for (const [index, value] of other.unseen(3).entries())
      expect(value).toBeCloseTo(unseen(3)[index] ?? Number.NaN, 3);
    expect(Math.abs(quantile(other.unseen(dayRows), 0.5) - quantile(unseen(dayRows), 0.5))).toBeGreaterThan(0.1);
  });

  test('the share of unseen targets below a quantile is near its probability', () => {
    for (const level of [0.1, 0.5, 0.9]) {
      const below = target.filter((value, row) => value < quantile(unseen(row), level)).length / count;
      expect(Math.abs(below - level)).toBeLessThan(0.06);
    }
  });

  test('say the same of the same, in whatever unit the target comes', () => {
    expect(fitNetworks([first, second], hours, planOf(target)).unseen(7)).toEqual(unseen(7));
    const large = fitNetworks([first, second], hours, planOf(target.map((value) => value * 1e6))).unseen(7);
    for (const [index, value] of large.entries()) expect(value / 1e6).toBeCloseTo(unseen(7)[index] ?? Number.NaN, 3);
  });

  test('a target that never moves is what they say', () => {
    const flat = fitNetworks([first, second], hours, planOf(new Float64Array(count).fill(7)));
    for (const value of flat.unseen(0)) expect(Math.abs(value - 7)).toBeLessThan(0.2);
  });
});
