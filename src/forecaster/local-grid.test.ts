/** [data-processing §6.3] seasons follow local time: a noise-free local profile is forecast as well after a clock change as before. */
import { describe, expect, test } from 'vitest';
import { hourOfDay, localMs, weekdayOf } from '../site/local-time.ts';
import { forecastSample } from './forecast.ts';
import { onLocalTime } from './local-grid.ts';
import type { Sample } from './sample.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** A profile of the local hour: a morning and an evening peak on working days, one hump on others. */
function profile(atMs: number, timeZone: string): number {
  const local = localMs(atMs, timeZone);
  const hour = hourOfDay(local);
  const peak = (at: number): number => Math.exp(-((hour - at) ** 2) / 3);
  return weekdayOf(local) >= 6 ? 40 + 30 * peak(11) : 50 + 60 * peak(8) + 40 * peak(18.5);
}

interface Case {
  readonly timeZone: string;
  readonly cadenceMs: number;
  readonly path: 'series' | 'regression';
}

/** Mean absolute error of a day ahead, made at a local midnight in UTC terms. */
function errorOf({ timeZone, cadenceMs, path }: Case, originMs: number): number {
  const perDay = dayMs / cadenceMs;
  const count = 42 * perDay;
  const startMs = originMs - (count - 1) * cadenceMs;
  const at = (cell: number): number => startMs + (cell - 0.5) * cadenceMs;
  const all = Array.from({ length: count + perDay }, (_, cell) => profile(at(cell), timeZone));
  // A covariate that says nothing takes the regression path.
  const covariate = { name: 'temperature', values: Float64Array.from(all, (_, cell) => 10 + ((cell * 7919) % 13)) };
  const sample: Sample = {
    startMs,
    cadenceMs,
    count,
    horizon: perDay,
    target: Float64Array.from(all.slice(0, count)),
    covariates: path === 'regression' ? [covariate] : [],
    timeZone,
  };
  const { value } = forecastSample(sample, { minimum: undefined, probabilities: Float64Array.of() });
  return value.reduce((sum, one, step) => sum + Math.abs(one - (all[count + step] as number)), 0) / perDay;
}

/** The first instant after `fromMs` at which the offset of the zone has changed, to the quarter hour. */
function changeAfter(timeZone: string, fromMs: number): number {
  const offset = (ms: number): number => localMs(ms, timeZone) - ms;
  for (let ms = fromMs; ms < fromMs + 366 * dayMs; ms += 900_000)
    if (offset(ms + 900_000) !== offset(ms)) return ms + 900_000;
  throw new Error('this zone does not change its clocks');
}

const quarterHour = { cadenceMs: 900_000, path: 'regression' } as const;
const hourly = { cadenceMs: hourMs, path: 'series' } as const;
const cases = [
  ['Europe/Amsterdam', quarterHour],
  ['America/New_York', hourly],
  ['Australia/Lord_Howe', { cadenceMs: 1_800_000, path: 'series' }],
  ['America/St_Johns', { cadenceMs: hourMs, path: 'regression' }],
] as const;

describe('across a clock change', () => {
  test.each(cases)('%s, %j', { timeout: 60_000 }, (timeZone, way) => {
    let changeMs = changeAfter(timeZone, Date.UTC(2026, 0, 1));
    for (let change = 0; change < 2; change++) {
      const origin = (days: number): number => Math.floor(changeMs / dayMs) * dayMs + days * dayMs;
      const mean = (days: readonly number[]): number =>
        days.reduce((sum, day) => sum + errorOf({ timeZone, ...way }, origin(day)), 0) / days.length;
      // Not only the ratio: an error of nothing before leaves no room for one after.
      expect(mean([0, 1, 2, 7])).toBeLessThanOrEqual(Math.max(1.5 * mean([-8, -5, -2]), 0.5));
      changeMs = changeAfter(timeZone, changeMs + dayMs);
    }
  });
});

test('what follows the sun keeps its grid: it is forecast as well after the clocks went forward as before', () => {
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
    // 2026-10-25, 02:00 to 03:00 comes twice: labels 01:00Z and 02:00Z.
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
