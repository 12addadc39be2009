import { expect, test } from 'vitest';
import { LineNumbers } from './line-numbers.ts';

test.each([
  [[], null],
  [[5], 'line 5'],
  [[5, 6], 'lines 5, 6'],
  [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 'lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10'],
  [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 'lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more'],
])('lines %j read as %j', (numbers, text) => {
  expect(LineNumbers.of(numbers).text()).toBe(text);
});
