/** Requests for an actuator [points §7.1], [points §7.2]. */
import { describe, expect, test } from 'vitest';
import { testCatalogue } from '../testing/site-builder.ts';
import { limitOf, overrideOf } from './grants.ts';

const point = testCatalogue().point({ instance: 1, point_type: 'action', point: 1 });
if (point === undefined) throw new Error('the site has lost its point');
const circumstances = { id: 'unique', nowMs: 1000, by: { kind: 'user', id: 'ada' } };
const request = { for_seconds: 60, reason: 'a test' };

describe('[points §7.1] an override', () => {
  test.each([-100, 100, 0.3, 12.5])('%d is inside the range and on the step', (value) => {
    expect(overrideOf(point, { value, ...request }, circumstances)).toMatchObject({
      kind: 'override',
      id: '1.1.unique',
      value,
      fromMs: 1000,
      untilMs: 61_000,
    });
  });

  test.each([
    [100.1, /outside the range -100 to 100/],
    [-100.1, /outside the range/],
    [0.05, /not a multiple of the step 0.1; 0.1 is/],
  ])('%d is refused and says what is taken', (value, reason) => {
    expect(() => overrideOf(point, { value, ...request }, circumstances)).toThrow(reason);
  });
});

describe('[points §7.2] a limit', () => {
  test('needs a bound, and min no greater than max', () => {
    expect(limitOf(point, { min: 5, max: 5, ...request }, circumstances)).toMatchObject({ min: 5, max: 5 });
    expect(limitOf(point, { max: 5, ...request }, circumstances)).toMatchObject({ min: null, max: 5 });
    expect(() => limitOf(point, request, circumstances)).toThrow(/needs min, max or both/);
    expect(() => limitOf(point, { min: 6, max: 5, ...request }, circumstances)).toThrow(/min 6 is above max 5/);
  });
});
