/** [data-processing §6.3] Noise-free local loads in twelve zones, over both clock changes, by each forecasting path. */
import { expect, test } from 'vitest';
import { errorsAround, weekAround } from '../../src/testing/local-load.ts';

const zones = [
  'Europe/Amsterdam',
  'Europe/London',
  'Europe/Helsinki',
  'America/New_York',
  'America/Los_Angeles',
  'America/St_Johns',
  'America/Santiago',
  'Australia/Sydney',
  'Australia/Adelaide',
  'Pacific/Auckland',
  'Africa/Cairo',
];
/** Its clocks change by half an hour, which an hourly grid cannot follow. */
const halfHourZone = 'Australia/Lord_Howe';
const ways = [
  { cadenceMs: 900_000, path: 'regression' },
  { cadenceMs: 3_600_000, path: 'regression' },
  { cadenceMs: 3_600_000, path: 'series' },
] as const;

const loads = [
  ...zones.flatMap((timeZone) => ways.map((way) => ({ timeZone, ...way }))),
  ...ways.map((way) => ({ timeZone: halfHourZone, ...way, cadenceMs: Math.min(way.cadenceMs, 1_800_000) })),
];

test.each(loads)('$timeZone, $path every $cadenceMs ms', (load) => {
  const errors = errorsAround(load, weekAround);
  const shown = errors.map(({ before, after }) => `${before.toFixed(3)} before, ${after.toFixed(3)} after`);
  console.log(`${load.timeZone}, ${load.path} of ${load.cadenceMs / 60_000} min: MAE ${shown.join('; ')}`);
  // With no error before, none would be allowed after: a hundredth of a load of 40 to 110 is.
  for (const { before, after } of errors) expect(after).toBeLessThanOrEqual(Math.max(1.5 * before, 0.01));
});
