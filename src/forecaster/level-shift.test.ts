/** [data-processing §8] A change of level is found, dated and measured; weather and weekends are not mistaken for one. */
import { describe, expect, test } from 'vitest';
import { judgeForecasts, meanLoad, quietCase, shifted } from '../testing/troubled-load.ts';
import { expectationOf } from './expectation.ts';
import { groundOf } from './ground.ts';
import { findShift, type LevelShift, onNewLevel } from './level-shift.ts';
import type { Sample } from './sample.ts';

const shape = { cadenceMs: 3_600_000, path: 'regression', seed: 5, day: 2, hour: 7 } as const;
const quiet = quietCase(shape);

function found(sample: Sample): LevelShift | null {
  const ground = groundOf(sample);
  return findShift(ground, expectationOf(ground, sample.count));
}

const doubled = (hours: number): LevelShift | null => found(shifted(quiet, hours, (value) => 2 * value).sample);

describe('a level that changed', () => {
  test('by a factor', () => {
    const shift = doubled(72);
    expect(shift?.kind).toBe('scaled');
    expect(shift?.amount).toBeCloseTo(2, 1);
    expect(Math.abs(quiet.sample.count - 72 - (shift?.cell ?? 0))).toBeLessThanOrEqual(1);
  });

  test('by an addend', () => {
    const shift = found(shifted(quiet, 72, (value) => value + meanLoad).sample);
    expect(shift?.kind).toBe('moved');
    expect(Math.abs((shift?.amount ?? 0) / meanLoad - 1)).toBeLessThan(0.1);
  });

  test('a factor and an addend bring the days before onto the new level', () => {
    const { target, count } = quiet.sample;
    const scaled = onNewLevel(quiet.sample, { cell: count - 1, kind: 'scaled', amount: 2, share: 1 });
    const moved = onNewLevel(quiet.sample, { cell: count - 1, kind: 'moved', amount: 5, share: 1 });
    expect([scaled.target[0], scaled.target.at(-1)]).toEqual([2 * (target[0] ?? 0), target.at(-1)]);
    expect([moved.target[0], moved.target.at(-1)]).toEqual([(target[0] ?? 0) + 5, target.at(-1)]);
  });

  test('a young one may be a day off: the old level keeps 40%, from a day on 25%, from two days on nothing', () => {
    expect(doubled(23)?.share).toBe(0.6);
    expect([doubled(25)?.share, doubled(47)?.share]).toEqual([0.75, 0.75]);
    expect(doubled(49)?.share).toBe(1);
  });

  test('one hour is too young to be called one, three are not', () => {
    expect(doubled(1)).toBeNull();
    expect(doubled(3)).not.toBeNull();
  });
});

describe('no change of level', () => {
  test.each([0, 1, 2, 3, 4, 5, 6])('weather and weekends, day %i', (day) => {
    for (const hour of [0, 9, 18]) expect(found(quietCase({ ...shape, day, hour, seed: 60 + day }).sample)).toBeNull();
  });

  test('a tenth more may be due to the weather', () => {
    expect(found(shifted(quiet, 72, (value) => 1.1 * value).sample)).toBeNull();
  });
});

test('after a shift, the band covers the new level and the forecast warns', { timeout: 30_000 }, () => {
  const verdict = judgeForecasts([shifted(quiet, 24, (value) => value / 2)]);
  expect(verdict.warnings).toEqual(['LEVEL_SHIFT']);
  expect(verdict.coverage).toBeGreaterThanOrEqual(0.65);
});
