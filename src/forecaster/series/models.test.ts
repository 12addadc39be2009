/** The models of a single series, on series whose future is known. */
import { describe, expect, test } from 'vitest';
import { SeededStream } from '../../base/seeded.ts';
import { autoregress } from './autoregression.ts';
import { forecastSeries, weightedMedian } from './combination.ts';
import { direct } from './direct.ts';
import { seriesModels } from './models.ts';
import { profileAndMemory, repeatSeason, weeksOnLevel } from './profiles.ts';
import { searchMinimum } from './simplex-search.ts';
import { smooth } from './smoothing.ts';

const day = 24;
const wave = (cell: number): number =>
  20 +
  6 * Math.sin((2 * Math.PI * cell) / day) +
  3 * Math.cos((4 * Math.PI * cell) / day) +
  (Math.floor(cell / day) % 7 > 4 ? -4 : 0);
const weekly = Float64Array.from({ length: 35 * day }, (_, cell) => wave(cell));
const future = Float64Array.from({ length: 2 * day }, (_, step) => wave(35 * day + step));

function worst(own: Float64Array | null): number {
  if (own === null) return Number.POSITIVE_INFINITY;
  return own.reduce((most, value, step) => Math.max(most, Math.abs(value - (future[step] ?? 0))), 0);
}

describe('models', () => {
  test('a season is repeated unchanged', () => {
    expect(worst(repeatSeason(weekly, 2 * day, 7 * day))).toBeCloseTo(0, 9);
  });

  test.each([
    ['weeks on their level', weeksOnLevel(weekly, 2 * day, day, 4), 1e-9],
    ['profile and memory', profileAndMemory(weekly, 2 * day, day), 1],
    ['one regression a step', direct(weekly, 2 * day, day), 1],
    ['smoothing of two seasons', smooth(weekly, 2 * day, { day, week: 7 * day, trend: false }), 0.5],
  ])('an exact week is found again: %s', (_, own, tolerance) => {
    expect(worst(own)).toBeLessThan(tolerance);
  });

  test('an autoregression finds the process that made the series', () => {
    const stream = new SeededStream(4);
    const made = new Float64Array(3000);
    for (let cell = 2; cell < made.length; cell++)
      made[cell] = 1.2 * (made[cell - 1] ?? 0) - 0.5 * (made[cell - 2] ?? 0) + stream.next() - 0.5;
    const next = 1.2 * (made[2999] ?? 0) - 0.5 * (made[2998] ?? 0);
    const own = autoregress(made, 1, { lags: [1, 2], difference: 0, penalty: 1e-6, rounds: 1 });
    expect(own?.[0]).toBeCloseTo(next, 1);
  });

  test('robust rounds are not moved by a few wild values', () => {
    const spoiled = weekly.slice();
    for (let cell = 100; cell < spoiled.length - 60; cell += 97) spoiled[cell] = 400;
    const shape = { lags: [1, 2, day, 7 * day], difference: 0, penalty: 1e-4 };
    const plain = worst(autoregress(spoiled, 2 * day, { ...shape, rounds: 1 }));
    const robust = worst(autoregress(spoiled, 2 * day, { ...shape, rounds: 3 }));
    expect(robust).toBeLessThan(plain);
  });

  test('a recursion on a growing series does not diverge', () => {
    const growing = Float64Array.from({ length: 900 }, (_, cell) => 1.01 ** cell);
    for (const model of seriesModels) {
      const own = model.forecast(growing, 48, day);
      expect(own === null || own.every(Number.isFinite)).toBe(true);
    }
  });

  test('every model declines a history that is too short instead of guessing', () => {
    for (const model of seriesModels) expect(model.forecast(Float64Array.of(1, 2, 3), 4, day)).toBeNull();
  });
});

describe('the search', () => {
  test('it finds the bottom of a bowl and stays in its box', () => {
    const bowl = ([x = 0, y = 0]: readonly number[]): number => (x - 0.3) ** 2 + 4 * (y - 0.7) ** 2;
    const box = { start: [0.9, 0.1], stride: [0.1, 0.1], least: [0, 0], most: [1, 1] };
    const [x = 0, y = 0] = searchMinimum(bowl, box, 120);
    expect(x).toBeCloseTo(0.3, 2);
    expect(y).toBeCloseTo(0.7, 2);
    const [outside = 0] = searchMinimum(([at = 0]) => -at, { start: [0.5], stride: [0.1], least: [0], most: [1] }, 60);
    expect(outside).toBe(1);
  });
});

describe('the combination', () => {
  test('a weighted median follows the weight', () => {
    const forecasts = [Float64Array.of(1), Float64Array.of(5), Float64Array.of(9)];
    expect(weightedMedian(forecasts, Float64Array.of(1, 1, 1))[0]).toBe(5);
    expect(weightedMedian(forecasts, Float64Array.of(5, 1, 1))[0]).toBe(1);
  });

  test('a known week is met, with quantiles in order around it', () => {
    const stream = new SeededStream(8);
    const noisy = weekly.map((value) => value + stream.next() - 0.5);
    const own = forecastSeries(noisy, 2 * day, day);
    expect(own?.rows).toHaveLength(2 * day);
    for (const [step, row] of own?.rows.entries() ?? []) {
      for (let level = 1; level < row.length; level++) expect(row[level]).toBeGreaterThanOrEqual(row[level - 1] ?? 0);
      expect(Math.abs((row[15] ?? 0) - (future[step] ?? 0))).toBeLessThan(1.5);
    }
  });

  test('a history without two weeks before an origin cannot be judged', () => {
    expect(forecastSeries(weekly.slice(0, 10 * day), day, day)).toBeNull();
  });

  test('values that are not positive leave the models on a logarithmic scale out', () => {
    const own = forecastSeries(
      weekly.map((value) => value - 20),
      day,
      day,
    );
    expect(own?.models.some(({ name }) => name.endsWith('-log'))).toBe(false);
    expect(own?.models.length).toBeGreaterThan(5);
  });
});
