import { expect, test } from 'vitest';
import { againstText } from './score-words.ts';

test('an error of up to twice that of a reference is a percentage, a larger one a factor', () => {
  expect([null, 0.71, 0, -0.25, -1, -1.5, -118.81].map(againstText)).toEqual([
    '–',
    '71 % smaller error',
    '0 % smaller error',
    '25 % larger error',
    '100 % larger error',
    '2.5 times the error',
    '120 times the error',
  ]);
});
