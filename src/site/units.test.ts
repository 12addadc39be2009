import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { unitFactor } from './units.ts';

describe('[points §2] units of one dimension', () => {
  test.each([
    ['W', 'kW', 0.001],
    ['MW', 'kW', 1000],
    ['kWh', 'MWh', 0.001],
    ['h', 'min', 60],
    ['1', '%', 100],
    ['odd', 'odd', 1],
  ])('%s to %s: %d', (from, to, factor) => {
    expect(unitFactor(from, to)).toBe(factor);
  });

  test.each([
    ['W', 'Wh'],
    ['W', 'VA'],
    ['kW', 'odd'],
    ['A', 'Ah'],
  ])('%s and %s have nothing in common', (from, to) => {
    expect(unitFactor(from, to)).toBeUndefined();
  });

  test('there and back is where it was', () => {
    const power = fc.constantFrom('mW', 'W', 'kW', 'MW', 'GW');
    fc.assert(fc.property(power, power, (a, b) => (unitFactor(a, b) ?? 0) * (unitFactor(b, a) ?? 0) === 1));
  });
});
