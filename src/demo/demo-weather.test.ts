/** The demo's weather forecast has realistic errors: small at first, larger a day ahead, the same for the same run. */
import { expect, test } from 'vitest';
import { forecastErrors } from './demo-weather.ts';

const sixHoursMs = 6 * 3_600_000;
const runs = Array.from({ length: 400 }, (_, run) => forecastErrors((80_000 + run) * sixHoursMs));

function deviation(step: number): number {
  const own = runs.map((factors) => (factors[step] ?? Number.NaN) - 1);
  return Math.sqrt(own.reduce((sum, error) => sum + error * error, 0) / own.length);
}

test('errors grow with the lead and have no direction', () => {
  expect(deviation(0)).toBeGreaterThan(0.03);
  expect(deviation(0)).toBeLessThan(0.07);
  expect(deviation(95)).toBeGreaterThan(0.2);
  expect(deviation(95)).toBeLessThan(0.3);
  const mean = runs.reduce((sum, factors) => sum + (factors[48] ?? Number.NaN), 0) / runs.length;
  expect(Math.abs(mean - 1)).toBeLessThan(0.03);
});

test('a run is the same whenever it is written, and differs from the next', () => {
  expect(forecastErrors(80_000 * sixHoursMs)).toEqual(runs[0]);
  expect(runs[0]).not.toEqual(runs[1]);
  expect(Math.min(...runs.flat())).toBeGreaterThanOrEqual(0.3);
  expect(Math.max(...runs.flat())).toBeLessThanOrEqual(1.7);
});
