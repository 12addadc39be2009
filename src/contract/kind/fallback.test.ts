/** [data-processing §6.3]: the three strategies against direct implementations of their sentences, on random histories. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NormalisedFrame } from '../../api/processing.ts';
import { formatTimestamp } from '../../base/timestamp.ts';
import { loadQuestion } from '../../testing/load-fixture.ts';
import type { FallbackPolicy } from '../task/declaration.ts';
import { fallbackForecast } from './fallback.ts';

const cadenceSeconds = 900;
const asOfMs = Date.parse('2026-07-11T12:00:00Z');
const base = loadQuestion().request.frame;

function frameOf(values: readonly (number | null)[]): NormalisedFrame {
  const timestamps = values.map((_, index) =>
    formatTimestamp(asOfMs - (values.length - 1 - index) * cadenceSeconds * 1000),
  );
  const quality = values.map((value) => (value === null ? ('missing' as const) : ('good' as const)));
  const load = { value_type: 'number' as const, unit: 'kW', values: [...values], quality };
  return { ...base, history: { timestamps, features: { load } } };
}

const policy = (changes: Partial<FallbackPolicy>): FallbackPolicy => ({
  strategy: 'persistence',
  version: '1',
  source_feature: 'load',
  season_seconds: null,
  weeks: null,
  max_output_age_seconds: 1800,
  ...changes,
});

const history = fc.array(fc.option(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { nil: null }), {
  minLength: 1,
  maxLength: 60,
});
const horizon = fc.integer({ min: 1, max: 40 });
/** Value and index of the label `offset` cadences after as_of; undefined outside the window. */
const at = (values: readonly (number | null)[], offset: number) => values[values.length - 1 + offset];

describe('fallback strategies', () => {
  test('persistence repeats the last usable value', () => {
    fc.assert(
      fc.property(history, horizon, (values, steps) => {
        const forecast = fallbackForecast(policy({}), frameOf(values), 'UTC', steps);
        const usable = values.flatMap((value, index) => (value === null ? [] : [{ value, index }]));
        const last = usable.at(-1);
        if (last === undefined) return forecast === null;
        const through = asOfMs - (values.length - 1 - last.index) * cadenceSeconds * 1000;
        return (
          forecast?.values.every((value) => value === last.value) === true &&
          forecast.values.length === steps &&
          Date.parse(forecast.basedOnDataThrough) === through
        );
      }),
    );
  });

  test('seasonal-naive takes the same label one season before, and repeats that season', () => {
    fc.assert(
      fc.property(history, horizon, fc.integer({ min: 1, max: 20 }), (values, steps, season) => {
        const forecast = fallbackForecast(
          policy({ strategy: 'seasonal-naive', season_seconds: season * cadenceSeconds }),
          frameOf(values),
          'UTC',
          steps,
        );
        const expected: (number | null | undefined)[] = [];
        // A forecast longer than one season repeats its own first season.
        for (let step = 1; step <= steps; step++)
          expected.push(step <= season ? at(values, step - season) : expected[step - 1 - season]);
        if (expected.some((value) => value === null || value === undefined)) return forecast === null;
        return JSON.stringify(forecast?.values) === JSON.stringify(expected);
      }),
    );
  });

  test('historical-average is the mean of the same label over the declared weeks, of the existing values', () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 6 }), (values, season, weeks) => {
        // Within one season of as_of the needed weeks of history precede every label.
        const forecast = fallbackForecast(
          policy({ strategy: 'historical-average', season_seconds: season * cadenceSeconds, weeks }),
          frameOf(values),
          'UTC',
          season,
        );
        const means: number[] = [];
        for (let step = 1; step <= season; step++) {
          const used: number[] = [];
          for (let week = 1; week <= weeks; week++) {
            const value = at(values, step - week * season);
            if (typeof value === 'number') used.push(value);
          }
          if (used.length === 0) return forecast === null;
          means.push(used.reduce((sum, value) => sum + value, 0) / used.length);
        }
        return (
          forecast?.values.every(
            (value, index) => Math.abs(value - (means[index] ?? Number.NaN)) <= 1e-9 * Math.abs(value) + 1e-12,
          ) === true
        );
      }),
    );
  });

  test('a feature that is not there or holds no numbers gives nothing', () => {
    expect(fallbackForecast(policy({ source_feature: 'wind' }), frameOf([1]), 'UTC', 1)).toBeNull();
    expect(fallbackForecast(policy({}), frameOf([null, null]), 'UTC', 1)).toBeNull();
  });
});

describe('[data-processing §6.3] seasons follow the local day of the task', () => {
  const zone = 'Europe/Amsterdam';
  /** Hourly labels up to `lastMs`, each with a value of its own; returns the label that each step was copied from. */
  const copiedFrom = (lastIso: string, changes: Partial<FallbackPolicy>, steps: number): string[] => {
    const lastMs = Date.parse(lastIso);
    const count = 24 * 15;
    const timestamps = Array.from({ length: count }, (_, index) =>
      formatTimestamp(lastMs - (count - 1 - index) * 3_600_000),
    );
    const values = timestamps.map((_, index) => index);
    const quality = values.map(() => 'good' as const);
    const load = { value_type: 'number' as const, unit: 'kW', values, quality };
    const frame = { ...base, cadence_seconds: 3600, history: { timestamps, features: { load } } };
    const forecast = fallbackForecast(policy({ strategy: 'seasonal-naive', ...changes }), frame, zone, steps);
    return forecast?.values.map((value) => timestamps[value] ?? '') ?? [];
  };
  const day = { season_seconds: 86_400 };

  test('the day after the clocks went forward, and a week later with a season of a week', () => {
    // 2026-03-29 at 01:00Z they showed 03:00. Labelled 07:00Z is the local hour to 09:00; the day before that was 08:00Z.
    expect(copiedFrom('2026-03-29T06:00:00Z', day, 1)).toEqual(['2026-03-28T08:00:00Z']);
    expect(copiedFrom('2026-04-01T06:00:00Z', { season_seconds: 604_800 }, 1)).toEqual(['2026-03-25T08:00:00Z']);
    expect(copiedFrom('2026-04-01T06:00:00Z', day, 1)).toEqual(['2026-03-31T07:00:00Z']);
  });

  test('the day after they went back', () => {
    expect(copiedFrom('2026-10-25T06:00:00Z', day, 1)).toEqual(['2026-10-24T06:00:00Z']);
  });

  test('a repeated local hour, and one whose counterpart was skipped, use the label exactly one season before', () => {
    // Labels 01:00Z and 02:00Z are both the local hour from 02:00 to 03:00.
    expect(copiedFrom('2026-10-25T00:00:00Z', day, 2)).toEqual(['2026-10-24T01:00:00Z', '2026-10-24T02:00:00Z']);
    // The local hour to 03:00 was skipped on the 29th.
    expect(copiedFrom('2026-03-30T00:00:00Z', day, 1)).toEqual(['2026-03-29T01:00:00Z']);
  });

  test('a season that is not a whole number of days is counted in hours', () => {
    expect(copiedFrom('2026-03-29T06:00:00Z', { season_seconds: 43_200 }, 1)).toEqual(['2026-03-28T19:00:00Z']);
  });

  test('a label that would lie in the future is taken a season earlier', () => {
    // At 23:00Z on the 28th, 24 h ahead crosses the change: the same local time a day before would be after as_of.
    const [first, ...rest] = copiedFrom('2026-03-28T23:00:00Z', day, 25);
    expect(first).toBe('2026-03-28T00:00:00Z');
    expect(rest.every((label) => label <= '2026-03-28T23:00:00Z')).toBe(true);
  });
});
