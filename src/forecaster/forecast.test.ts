/** A whole forecast: shape, order, missing cells, determinism, and one fit shared by all requests of a day. */
import { describe, expect, test } from 'vitest';
import { SeededStream } from '../base/seeded.ts';
import { dayMs } from '../base/timestamp.ts';
import { forecastSample } from './forecast.ts';
import { fittingPart } from './outlook.ts';
import type { Sample } from './sample.ts';

const cadenceMs = 1_800_000;
const perDay = 48;
const midnightMs = Date.UTC(2024, 4, 6);

/** A plant whose output follows an irradiance known ahead; nights are dark. */
function plantSample(days: number, hours = 0): Sample {
  const count = days * perDay;
  const horizon = perDay;
  const startMs = midnightMs - count * cadenceMs + cadenceMs + hours * 3_600_000;
  const sky = new SeededStream(12);
  const clouds = Float64Array.from({ length: 2 * days + 8 }, () => 0.3 + 0.7 * sky.next());
  const values = Float64Array.from({ length: count + horizon }, (_, cell) => {
    const atMs = startMs + cell * cadenceMs;
    const hour = (atMs % dayMs) / 3_600_000;
    const height = Math.max(0, Math.sin((Math.PI * (hour - 6)) / 12));
    const dayIndex = Math.floor((atMs - midnightMs) / dayMs) + days + 2;
    return 900 * height * (clouds[dayIndex] ?? 0.5);
  });
  const grit = new SeededStream(3);
  const target = values.slice(0, count).map((value) => (value > 0 ? value * (0.0045 + 0.001 * grit.next()) : 0));
  return { startMs, cadenceMs, count, horizon, target, covariates: [{ name: 'irradiance', values }], timeZone: 'UTC' };
}

const ask = { minimum: 0, probabilities: Float64Array.of(0.1, 0.25, 0.5, 0.75, 0.9) };

describe('a forecast', () => {
  const sample = plantSample(30);
  const answer = forecastSample(sample, ask);

  test('[data-processing §6.2] every step has a finite value and quantiles that do not fall', () => {
    expect(answer.value).toHaveLength(perDay);
    expect(answer.quantiles).toHaveLength(5);
    for (let step = 0; step < perDay; step++) {
      const row = answer.quantiles.map((own) => own[step] ?? Number.NaN);
      expect(row.every(Number.isFinite)).toBe(true);
      expect(row).toEqual(row.toSorted((a, b) => a - b));
      expect(row[2]).toBe(answer.value[step]);
    }
  });

  test('it follows the irradiance that is known ahead, is never negative, and is zero at night', () => {
    const ahead = sample.covariates[0]?.values.slice(sample.count) ?? new Float64Array(0);
    for (let step = 0; step < perDay; step++) {
      const light = ahead[step] ?? 0;
      if (light === 0) for (const own of answer.quantiles) expect(own[step]).toBe(0);
      else expect(Math.abs((answer.value[step] ?? 0) - light * 0.005)).toBeLessThan(0.6);
      expect(answer.quantiles[0]?.[step]).toBeGreaterThanOrEqual(0);
    }
  });

  test('the same sample gives the same numbers', () => {
    expect(forecastSample(plantSample(30), ask)).toEqual(answer);
  });

  test.each([3, 5, 8, 14])('a history of %i days gives finite numbers in order', (days) => {
    const { value, quantiles } = forecastSample(plantSample(days), ask);
    for (let step = 0; step < perDay; step++) {
      const row = quantiles.map((own) => own[step] ?? Number.NaN);
      expect(row.every(Number.isFinite)).toBe(true);
      expect(row).toEqual(row.toSorted((a, b) => a - b));
      expect(value[step]).toBe(row[2]);
    }
  });

  test('missing cells are handled, not zeroed', () => {
    const stream = new SeededStream(77);
    const target = sample.target.map((value) => (stream.next() < 0.1 ? Number.NaN : value));
    const holes = forecastSample({ ...sample, target }, ask);
    const noon = perDay / 2;
    expect(Math.abs((holes.value[noon] ?? 0) - (answer.value[noon] ?? 0))).toBeLessThan(0.5);
  });
});

describe('the part that a fit is made from', () => {
  test('all hours of one day share it, and the next midnight has another', () => {
    const whole = fittingPart(plantSample(30));
    for (const hours of [1, 9, 23.5]) {
      const part = fittingPart(plantSample(30, hours));
      expect(part.startMs).toBe(whole.startMs);
      expect(part.count).toBe(whole.count);
      expect(part.target).toEqual(
        plantSample(30, hours)
          .target.slice((whole.startMs - plantSample(30, hours).startMs) / cadenceMs)
          .slice(0, whole.count),
      );
    }
    expect(fittingPart(plantSample(30, 24)).startMs).toBe(whole.startMs + dayMs);
  });

  test('covers whole days that end at a midnight, and uses nothing of the horizon', () => {
    const part = fittingPart(plantSample(30, 9));
    expect(part.count % perDay).toBe(0);
    expect((part.startMs + (part.count - 1) * cadenceMs) % dayMs).toBe(0);
    for (const { values } of part.covariates) expect(values).toHaveLength(part.count);
  });
});

/** A plant that works from 8 to 18 with a pause at noon, or stands still for the whole day, as chance has it. */
function shiftSample(days: number, hours: number, works: boolean): Sample {
  const count = days * perDay;
  const startMs = midnightMs - count * cadenceMs + cadenceMs + hours * 3_600_000;
  const chance = new SeededStream(4);
  const working = Array.from({ length: days + 2 }, () => chance.next() < 0.6);
  working[days] = works;
  const noise = new SeededStream(9);
  const target = Float64Array.from({ length: count }, (_, cell) => {
    const atMs = startMs + cell * cadenceMs;
    const hour = (atMs % dayMs) / 3_600_000;
    const isOn = hour > 8 && hour <= 18 && !(hour > 12 && hour <= 13);
    const day = Math.floor((atMs - 1 - midnightMs) / dayMs) + days;
    return isOn && working[day] === true ? 100 + 10 * noise.next() : 10 + noise.next();
  });
  const weekday = Float64Array.from({ length: count + perDay }, (_, cell) =>
    new Date(startMs + cell * cadenceMs).getUTCDay(),
  );
  return {
    startMs,
    cadenceMs,
    count,
    horizon: perDay,
    target,
    covariates: [{ name: 'day', values: weekday }],
    timeZone: 'UTC',
  };
}

describe('a forecast in the middle of a day', () => {
  const first = (hours: number, works: boolean): number =>
    forecastSample(shiftSample(42, hours, works), ask).value[0] ?? Number.NaN;

  test('continues a day without work, and one with work', () => {
    expect(first(10, false)).toBeLessThan(40);
    expect(first(10, true)).toBeGreaterThan(80);
  });

  test('knows the pause on both', () => {
    for (const works of [true, false]) {
      expect(first(12, works)).toBeGreaterThan(5);
      expect(first(12, works)).toBeLessThan(20);
    }
  });
});
