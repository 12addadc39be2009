/** Requests for an actuator [points §7.1], [points §7.2]. */
import { describe, expect, test } from 'vitest';
import { testCatalogue } from '../testing/site-builder.ts';
import { grantView, limitOf, overrideOf } from './grants.ts';

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

test('a refusal names what the point takes, in its details too', () => {
  const refused = (value: number): unknown => {
    try {
      return overrideOf(point, { value, ...request }, circumstances);
    } catch (error) {
      return Reflect.get(Object(error), 'details');
    }
  };
  expect(refused(101)).toEqual({ min: -100, max: 100 });
  expect(refused(0.05)).toEqual({ step: 0.1, nearest: 0.1 });
});

test('an override shows its value, and a limit its bounds', () => {
  const common = {
    override_id: '1.1.unique',
    instance: 1,
    point: 1,
    until: '1970-01-01T00:01:01.000Z',
    reason: 'a test',
  };
  const by = circumstances.by;
  expect(grantView(overrideOf(point, { value: 5, ...request }, circumstances))).toEqual({
    ...common,
    by,
    kind: 'override',
    value: 5,
    state: 'active',
  });
  expect(grantView(limitOf(point, { max: 5, ...request }, circumstances), 'released')).toEqual({
    ...common,
    by,
    kind: 'limit',
    min: null,
    max: 5,
    state: 'released',
  });
});
