/** [data-processing §6.3] noise-free local loads in twelve zones, over both clock changes, in each way that a forecast is made. */
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
  // An error of nothing before leaves no room for one after: a hundredth, of a load of 40 to 110, does.
  for (const { before, after } of errors) expect(after).toBeLessThanOrEqual(Math.max(1.5 * before, 0.01));
});
