/** The power balance, from the kinds of the points. */
import { expect, test } from 'vitest';
import type { PointEntry } from '../points/point-queries.ts';
import { directionOf, feedersOf, restOf } from './balance.ts';

function power(name: string, value: number | null, convention: string | null, more: Partial<PointEntry> = {}) {
  return {
    instance: name.length,
    instance_name: name,
    point_type: 'measurement',
    point: 1,
    name: 'active_power',
    unit: 'kW',
    value,
    quality: 'good',
    sign_convention: convention,
    ...more,
  } as PointEntry;
}
const grid = power('grid', 20, 'positive_import');
const pv = power('pv', 50, 'positive_generation');
const battery = power('battery', -30, 'positive_discharge');
const load = power('house', 40, 'positive_consumption');

test('the grid first, then producers, storage, consumers, and unsigned values', () => {
  const meter = power('submeter', 3, null);
  const feeders = feedersOf([meter, load, battery, pv, grid]);
  expect(feeders.map(({ power: { instance_name: name } }) => name)).toEqual([
    'grid',
    'pv',
    'battery',
    'house',
    'submeter',
  ]);
  expect(feeders.map(({ sign }) => sign?.kind)).toEqual(['grid', 'source', 'storage', 'load', undefined]);
});

test('of an instance the power whose sign is known, and its state of charge; no actuator, no other unit', () => {
  const apparent = power('battery', 31, null, { point: 2, name: 'apparent_power' });
  const soc = power('battery', 55, null, { point: 3, name: 'soc', unit: '%' });
  const setpoint = power('battery', 1, 'positive_discharge', { point: 4, point_type: 'action' });
  const energy = power('house', 9, null, { name: 'power_energy', unit: 'kWh' });
  expect(feedersOf([apparent, setpoint, soc, battery, energy])).toEqual([
    { power: battery, level: soc, sign: { kind: 'storage', positiveIs: 'in' } },
  ]);
});

test('the direction follows sign and convention; an unknown value has no direction', () => {
  const of = (convention: string | null, value: number | null) => {
    const [feeder] = feedersOf([power('one', value, convention)]);
    return feeder === undefined ? 'none' : directionOf(feeder, { value });
  };
  expect([of('positive_import', 1), of('positive_import', -1), of('positive_export', 1)]).toEqual(['in', 'out', 'out']);
  expect([of('positive_charge', 1), of('positive_consumption', -1), of('positive_import', 0)]).toEqual([
    'out',
    'in',
    'still',
  ]);
  expect([of(null, 1), of('positive_import', null)]).toEqual([null, null]);
});

test('the rest is unmetered; unknown if a value is missing', () => {
  const rest = (...points: PointEntry[]) => restOf(feedersOf(points));
  expect(rest(grid, pv, battery, load)).toBe(0);
  expect(rest(grid, pv, battery, { ...load, value: 35 })).toBe(5);
  expect(rest({ ...grid, value: 0.02, unit: 'MW' }, pv, battery, { ...load, value: 35 })).toBeCloseTo(0.005, 12);
  // Meters that agree to a tenth of a percent of all flows are taken as equal.
  expect(rest(grid, pv, battery, { ...load, value: 39.9 })).toBe(0);
  // However many feeders there are: each counts, also those that are not drawn.
  const many = Array.from({ length: 20 }, (_, at) => power(`load ${'x'.repeat(at)}`, 1, 'positive_consumption'));
  expect(rest(grid, ...many)).toBe(0);
  expect(rest(pv, battery, load)).toBeNull();
  expect(rest(grid, { ...pv, quality: 'stale' }, load)).toBeNull();
  expect(rest(grid, { ...pv, value: null }, load)).toBeNull();
  expect(rest(grid, power('submeter', 3, null))).toBeNull();
});
