/** Gaps of a trend: an outage breaks the line, a constant value does not. */
import { describe, expect, test } from 'vitest';
import { gapsAfter, lonely } from './trend-gaps.ts';

type Part = readonly [seconds: number, observations: number];

/** Consecutive buckets: seconds to the next one, and observations. */
function trend(...parts: readonly Part[]) {
  let unix = 0;
  return parts.map(([seconds, observations]) => {
    const bucket = { unix, observations };
    unix += seconds;
    return bucket;
  });
}
const times = (count: number, ...part: Part): Part[] => Array.from({ length: count }, () => part);
/** Positions after which the line breaks. */
const broken = (...parts: readonly Part[]): number[] =>
  gapsAfter(trend(...parts)).flatMap((gap, at) => (gap === null ? [] : [at]));

describe('the line of a trend', () => {
  test('breaks at an outage, and at each of two in a row', () => {
    expect(broken(...times(9, 12, 24), [600, 24], ...times(9, 12, 24))).toEqual([9]);
    expect(broken(...times(9, 12, 24), [600, 24], [600, 24], ...times(9, 12, 24))).toEqual([9, 10]);
  });

  test('extends the last value by the usual distance', () => {
    expect(gapsAfter(trend(...times(9, 12, 24), [600, 24], ...times(9, 12, 24)))[9]).toBe(12);
  });

  test('continues through a minute without changes: one row represents all of its readings', () => {
    expect(broken(...times(9, 6, 12), [60, 120], ...times(9, 6, 12))).toEqual([]);
    expect(broken(...times(9, 6, 12), [60, 120], [60, 120], [60, 120], ...times(9, 6, 12))).toEqual([]);
  });

  test('continues through a minute of repeated commands, whose row counts backwards', () => {
    expect(broken(...times(9, 6, 6), [60, 6], [6, 60], ...times(9, 6, 6))).toEqual([]);
  });

  test('continues where a coarse import meets live readings, on both sides', () => {
    expect(broken(...times(20, 60, 1), ...times(60, 12, 24))).toEqual([]);
    expect(broken(...times(60, 12, 24), ...times(20, 900, 1))).toEqual([]);
  });

  test('breaks at an outage in readings as rare as those of an import', () => {
    expect(broken(...times(9, 900, 1), [9000, 1], ...times(9, 900, 1), ...times(60, 12, 24))).toEqual([9]);
  });

  test('with one bucket or none has no gap', () => {
    expect(gapsAfter(trend([12, 1]))).toEqual([null]);
    expect(gapsAfter([])).toEqual([]);
  });
});

test('values between gaps stand alone', () => {
  expect(lonely([1, null, 2, 3, null, null, 4])).toEqual([0, 6]);
  expect(lonely([5])).toEqual([0]);
  expect(lonely([])).toEqual([]);
});
