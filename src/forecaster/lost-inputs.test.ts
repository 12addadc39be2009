/** Which covariates are unknown ahead, constant, or old. */
import { describe, expect, test } from 'vitest';
import { judgeForecasts, quietCase, withoutTemperature } from '../testing/troubled-load.ts';
import { lostInputs, staleInputs, withoutInputs } from './lost-inputs.ts';
import type { Sample } from './sample.ts';

const quiet = quietCase({ cadenceMs: 3_600_000, path: 'regression', seed: 9, day: 1, hour: 6 });
const { count, horizon } = quiet.sample;

const lostSteps = (sample: Sample): number[] =>
  lostInputs(sample).flatMap(({ steps }) => [...steps.entries()].flatMap(([step, flag]) => (flag === 1 ? [step] : [])));

function withTemperature(change: (values: Float64Array) => Float64Array): Sample {
  const covariates = quiet.sample.covariates.map(({ name, values }) => ({ name, values: change(values) }));
  return { ...quiet.sample, covariates };
}

describe('missing ahead', () => {
  const missing = (from: number, steps: number): Sample =>
    withoutTemperature(quiet, (step) => step >= from && step < from + steps).sample;

  test('nothing is lost where all is known, or where a gap of two hours is closed by a line', () => {
    expect(lostInputs(quiet.sample)).toEqual([]);
    expect(lostInputs(missing(5, 2))).toEqual([]);
    expect(lostInputs(missing(horizon - 2, 2))).toEqual([]);
  });

  test('a longer gap is, and no step beside it', () => {
    expect(lostSteps(missing(5, 3))).toEqual([5, 6, 7]);
    expect(lostSteps(missing(horizon - 3, 3))).toEqual([horizon - 3, horizon - 2, horizon - 1]);
    expect(lostSteps(missing(0, horizon))).toHaveLength(horizon);
  });
});

describe('standing still', () => {
  const still = (cells: number): Sample =>
    withTemperature((values) => values.map((value, cell) => (cell >= values.length - cells ? 4 : value)));

  test('for six hours and longer than ever before: the steps concerned are lost', () => {
    expect(lostInputs(still(5))).toEqual([]);
    expect(lostInputs(still(6))).toMatchObject([{ name: 'temperature', how: 'stuck' }]);
    expect(lostSteps(still(horizon + 3))).toHaveLength(horizon);
  });

  test('not for a flag, and not where it stood as long before', () => {
    expect(
      lostInputs(withTemperature((values) => values.map((_, cell) => (cell % 40 === 0 ? 1 : 0)).fill(0, -30))),
    ).toEqual([]);
    const before = withTemperature((values) => values.slice().fill(4, 100, 103).fill(4, -6));
    expect(lostInputs(before)).toEqual([]);
  });
});

test('stale: the history of a covariate ended more than a day before', () => {
  const ended = (hours: number): Sample =>
    withTemperature((values) => values.slice().fill(Number.NaN, count - hours, count));
  expect(staleInputs(ended(24))).toEqual([]);
  expect(staleInputs(ended(25))).toEqual(['temperature']);
});

test('a sample without an input has the others', () => {
  expect(withoutInputs(quiet.sample, new Set(['temperature'])).covariates).toEqual([]);
  expect(withoutInputs(quiet.sample, new Set(['rain'])).covariates).toHaveLength(1);
});

test('a lost input widens the band and raises a warning', { timeout: 30_000 }, () => {
  const verdict = judgeForecasts([withoutTemperature(quiet, (step) => step >= 12)]);
  expect(verdict.warnings).toEqual(['INPUT_LOST']);
  expect(verdict.coverage).toBeGreaterThanOrEqual(0.7);
});
