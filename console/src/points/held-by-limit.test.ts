import { describe, expect, test } from 'vitest';
import { heldByLimit } from './held-by-limit.ts';

const pump = { min: 0, max: 50 };

describe('[points §7.2] the value at which a limit holds an actuator', () => {
  test.each([
    ['bounds that leave a range', { min: 10, max: 40 }, undefined],
    ['no bound', { min: null, max: null }, undefined],
    ['a bound at the other end of the range', { min: null, max: 50 }, undefined],
    ['equal bounds', { min: 20, max: 20 }, 20],
    ['crossing bounds: the upper one', { min: 30, max: 20 }, 20],
    ['at least as much as the maximum', { min: 50, max: null }, 50],
    ['at least more than the range', { min: 400, max: null }, 50],
    ['at least more than the range, and at most more', { min: 400, max: 500 }, 50],
    ['at most less than the range', { min: null, max: -5 }, 0],
  ])('%s', (_, bounds, held) => {
    expect(heldByLimit(bounds, pump)).toBe(held);
  });

  test('a point without a range is held by equal or crossing bounds only', () => {
    const open = { min: null, max: null };
    expect(heldByLimit({ min: 400, max: null }, open)).toBeUndefined();
    expect(heldByLimit({ min: 400, max: 300 }, open)).toBe(300);
  });
});
