import { describe, expect, test } from 'vitest';
import { cutOf, latestCut, quantilesOf } from './as-of.ts';

const quarterMs = 900_000;
const now = Date.parse('2026-07-11T12:07:00Z');

describe('[data-processing §5.1] the data cut', () => {
  test('the newest whole step that had time to settle', () => {
    expect(latestCut(quarterMs, now)).toBe('2026-07-11T12:00:00Z');
    expect(latestCut(quarterMs, Date.parse('2026-07-11T12:00:10Z'))).toBe('2026-07-11T11:45:00Z');
    expect(latestCut(1000, Date.parse('2026-07-11T12:00:00.900Z'))).toBe('2026-07-11T12:00:00Z');
  });

  test.each([
    ['2026-07-11T12:00:00Z', '2026-07-11T12:00:00Z'],
    ['2026-07-11 11:45', '2026-07-11T11:45:00Z'],
    ['2026-07-11T12:01:00Z', null],
    ['2026-07-11T12:15:00Z', null],
    ['2026-02-30T12:15:00Z', null],
    ['today', null],
  ])('%s', (text, expected) => {
    expect(cutOf(text, quarterMs, now)).toBe(expected);
  });

  test.each([
    ['0.1, 0.5 0.9', 3, [0.1, 0.5, 0.9]],
    ['', 3, []],
    ['0.1 0.5 0.9', 2, null],
    ['0.5 0.5', 3, null],
    ['0.9 0.1', 3, null],
    ['0', 3, null],
    ['1', 3, null],
    ['half', 3, null],
  ])('quantiles %s of at most %d', (text, max, expected) => {
    expect(quantilesOf(text, max)).toEqual(expected);
  });
});
