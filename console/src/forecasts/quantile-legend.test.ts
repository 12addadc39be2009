import { expect, test } from 'vitest';
import { legendOf } from './quantile-legend.ts';

const points = (shares: readonly number[], median = 5) => [
  { value: median, quantiles: shares.map((probability) => ({ probability, value: 10 * probability })) },
];

test.each([
  ['pairs around the middle are bands', [0.1, 0.3, 0.7, 0.9], [{ upTo: 3 }, { upTo: 2 }, 'hidden', 'hidden']],
  ['a median that is the forecast is not repeated', [0.1, 0.5, 0.9], [{ upTo: 2 }, 'hidden', 'hidden']],
  ['others stand alone', [0.05, 0.5, 0.9], ['alone', 'hidden', 'alone']],
  ['one quantile', [0.9], ['alone']],
  ['none', [], []],
])('%s', (_, shares, entries) => {
  expect(legendOf(points(shares))).toEqual(entries);
});

test('a median that differs from the forecast is shown', () => {
  expect(legendOf(points([0.1, 0.5, 0.9], 5.5))[1]).toBe('alone');
  expect(legendOf([])).toEqual([]);
});
