import { expect, test } from 'vitest';
import { meanPath } from './mean-path.ts';

const at = (minute: number): string => new Date(minute * 60_000).toISOString();
const path = (...minutes: readonly number[]): string => {
  const buckets = minutes.map((minute) => ({ t: at(minute), mean: minute, observations: 1 }));
  return meanPath({ from: at(0), to: at(240), buckets }, 240, (mean) => mean);
};

test('a gap in the record breaks the line', () => {
  expect(path(0, 1, 2, 9, 10, 11)).toBe('M0.0 0.0L1.0 1.0L2.0 2.0M9.0 9.0L10.0 10.0L11.0 11.0');
});

test('rows as far apart as always are one line', () => {
  expect(path(0, 60, 120)).toBe('M0.0 0.0L60.0 60.0L120.0 120.0');
});

test('a mean between two gaps is a dash, and so is one alone', () => {
  expect(path(0, 1, 2, 30, 60, 61, 62)).toBe('M0.0 0.0L1.0 1.0L2.0 2.0M30.0 30.0h1M60.0 60.0L61.0 61.0L62.0 62.0');
  expect(path(5)).toBe('M5.0 5.0h1');
  expect(path()).toBe('');
});
