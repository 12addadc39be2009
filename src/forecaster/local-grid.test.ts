/** [data-processing §6.3] Seasons follow local time: a noise-free local profile is forecast as well after a clock change as before. */
import { describe, expect, test } from 'vitest';
import { errorsAround } from '../testing/local-load.ts';
import { forecastSample } from './forecast.ts';
import { onLocalTime } from './local-grid.ts';
import type { Sample } from './sample.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const halfHour = { cadenceMs: 1_800_000, path: 'regression' } as const;
const hourly = { cadenceMs: hourMs, path: 'series' } as const;
/** `tests/soak/clock-changes.test.ts` covers more days and zones. */
const someDays = { before: [-2], after: [1, 7] };
const cases = [
  ['Europe/Amsterdam', halfHour],
  ['America/New_York', hourly],
  ['Australia/Lord_Howe', { cadenceMs: 1_800_000, path: 'series' }],
  ['America/St_Johns', { cadenceMs: hourMs, path: 'regression' }],
] as const;

describe('across a clock change', () => {
  test.each(cases)('%s, %j', { timeout: 60_000 }, (timeZone, way) => {
    // Not only the ratio: with no error before, none would be allowed after.
    for (const { before, after } of errorsAround({ timeZone, ...way }, someDays))
      expect(after).toBeLessThanOrEqual(Math.max(1.5 * before, 0.01));
  });
});

test('a series that follows the sun keeps its grid: its forecast is as good after a clock change as before', () => {
  const count = 42 * 24;
  const errorFrom = (originMs: number): number => {
    const startMs = originMs - (count - 1) * hourMs;
    const sun = Float64Array.from({ length: count + 24 }, (_, cell) =>
      Math.max(0, Math.sin((2 * Math.PI * ((startMs / hourMs + cell - 6.5) % 24)) / 24)),
    );
    // Clouds change from day to day, and the covariate does not know them.
    const target = sun.map((light, cell) => 100 * light * (0.8 + 0.2 * Math.sin(Math.floor(cell / 24) * 2.4)));
    const sample: Sample = {
      startMs,
      cadenceMs: hourMs,
      count,
      horizon: 24,
      target: target.slice(0, count),
      covariates: [{ name: 'irradiance', values: sun.map((light) => 900 * light) }],
      timeZone: 'Europe/Amsterdam',
    };
    const { value } = forecastSample(sample, { minimum: 0, probabilities: Float64Array.of() });
    return value.reduce((sum, one, step) => sum + Math.abs(one - (target[count + step] as number)), 0);
  };
  const changeDay = Date.UTC(2026, 2, 29);
  const mean = (days: readonly number[]): number =>
    days.reduce((sum, day) => sum + errorFrom(changeDay + day * dayMs), 0) / days.length;
  expect(mean([1, 2, 3, 4, 5])).toBeLessThanOrEqual(1.5 * mean([-6, -5, -4, -3, -2]));
});

describe('[data-processing §6.3] the local grid', () => {
  const sampleAt = (startMs: number, count: number, horizon: number, timeZone: string): Sample => ({
    startMs,
    cadenceMs: hourMs,
    count,
    horizon,
    target: Float64Array.from({ length: count }, (_, cell) => cell),
    covariates: [{ name: 'c', values: Float64Array.from({ length: count + horizon }, (_, cell) => cell) }],
    timeZone,
  });

  test('without a change every cell keeps its place', () => {
    const sample = sampleAt(Date.UTC(2026, 6, 1), 48, 24, 'Europe/Amsterdam');
    const { sample: local, steps } = onLocalTime(sample);
    expect(local.startMs).toBe(sample.startMs + 2 * hourMs);
    expect(local).toMatchObject({ count: 48, horizon: 24, target: sample.target, covariates: sample.covariates });
    expect([...steps]).toEqual(Array.from({ length: 24 }, (_, step) => step));
  });

  test('the skipped hour has no value, the repeated one is the mean of both', () => {
    // 2026-03-29, 02:00 to 03:00 is skipped: the cell labelled 01:00Z ends it, the next one is 03:00 to 04:00.
    const spring = onLocalTime(sampleAt(Date.UTC(2026, 2, 29, 0), 4, 2, 'Europe/Amsterdam')).sample;
    expect([...spring.target]).toEqual([0, 1, Number.NaN, 2, 3]);
    // 2026-10-25, 02:00 to 03:00 occurs twice: labels 01:00Z and 02:00Z.
    const autumn = onLocalTime(sampleAt(Date.UTC(2026, 9, 25, 0), 4, 2, 'Europe/Amsterdam')).sample;
    expect([...autumn.target]).toEqual([0, 1.5, 3]);
  });

  test('a horizon that begins in the repeated hour has both its cells from one forecast', () => {
    const { sample, steps } = onLocalTime(sampleAt(Date.UTC(2026, 9, 24, 22), 4, 3, 'Europe/Amsterdam'));
    // The last cell of history and the first of the horizon are the same local hour.
    expect([...steps]).toEqual([0, 1, 2]);
    expect(sample.count).toBe(3);
  });
});
