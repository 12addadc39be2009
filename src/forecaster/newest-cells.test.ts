/** The newest values are believed unless they jump farther than any before; then they are doubted for an hour at most. */
import { expect, test } from 'vitest';
import { judgeForecasts, quietCase, shifted, withGlitch } from '../testing/troubled-load.ts';
import { expectationOf } from './expectation.ts';
import { groundOf } from './ground.ts';
import { doubtedCells, withoutNewest } from './newest-cells.ts';
import type { Sample } from './sample.ts';

const quiet = quietCase({ cadenceMs: 900_000, path: 'regression', seed: 8, day: 3, hour: 11 });

function doubted(sample: Sample): number {
  const ground = groundOf(sample);
  return doubtedCells(ground, expectationOf(ground, sample.count));
}

test('ordinary values are believed', () => {
  expect(doubted(quiet.sample)).toBe(0);
});

test.each([0, 400, -50])('one value of %i kW is not', (value) => {
  expect(doubted(withGlitch(quiet, value).sample)).toBe(1);
});

test('a jump is in doubt for an hour, then it is a level', () => {
  const since = (hours: number): number => doubted(shifted(quiet, hours, (value) => 3 * value).sample);
  expect([since(0.5), since(1), since(1.25)]).toEqual([2, 4, 0]);
});

test('doubted cells are missing, all others stay', () => {
  const { target, count } = withoutNewest(quiet.sample, 2);
  expect(Array.from(target.subarray(count - 2))).toEqual([Number.NaN, Number.NaN]);
  expect(target.subarray(0, count - 2)).toEqual(quiet.sample.target.subarray(0, count - 2));
});

test('a forecast with a wrong newest value is the forecast without it', { timeout: 30_000 }, () => {
  const verdict = judgeForecasts([withGlitch(quiet, 400)]);
  expect(verdict.warnings).toEqual(['NEWEST_CELL_DOUBTED']);
  const without = judgeForecasts([{ ...quiet, sample: withoutNewest(quiet.sample, 1) }]);
  expect(verdict.error).toBeCloseTo(without.error, 9);
});
