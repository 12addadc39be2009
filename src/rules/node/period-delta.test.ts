/** Period deltas [rules §4.6]: baselines, counter resets, midnights and restarts. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { localMs, type Period, periodNumber } from '../../site/local-time.ts';
import { advancePeriodDelta } from './period-delta.ts';

const amsterdam = 'Europe/Amsterdam';
const hourMs = 3_600_000;

/** A period delta whose memory goes through its stored form before every value, as over a restart. */
function counted(period: Period, timezone = amsterdam): (value: number, iso: string | number) => number {
  let stored = '[]';
  return (value, at) => {
    const memory: number[] = JSON.parse(stored);
    const wallMs = typeof at === 'number' ? at : Date.parse(at);
    const delta = advancePeriodDelta(memory, value, wallMs, period, timezone);
    stored = JSON.stringify(memory);
    return delta;
  };
}

describe('[rules §4.6] a new period starts at local midnight, at 0', () => {
  test('a day of 23 hours', () => {
    const today = counted('daily');
    expect(today(100, '2026-03-28T22:59:59Z')).toBe(0);
    expect(today(103, '2026-03-28T23:00:00Z')).toBe(0);
    expect(today(150, '2026-03-29T21:59:59.999Z')).toBe(47);
    expect(today(151, '2026-03-29T22:00:00Z')).toBe(0);
  });

  test('a day of 25 hours: the repeated hour is counted once', () => {
    const today = counted('daily');
    expect(today(100, '2026-10-24T22:00:00Z')).toBe(0);
    expect(today(110, '2026-10-25T00:30:00Z')).toBe(10);
    expect(today(120, '2026-10-25T01:30:00Z')).toBe(20);
    expect(today(200, '2026-10-25T22:59:59.999Z')).toBe(100);
    expect(today(201, '2026-10-25T23:00:00Z')).toBe(0);
  });

  test('a day with one hour twice at midnight stays one day', () => {
    // Havana goes back from 01:00 to 00:00 on 2026-11-01.
    const havana = counted('daily', 'America/Havana');
    expect(havana(10, '2026-11-01T04:00:00Z')).toBe(0);
    expect(havana(15, '2026-11-01T04:59:59Z')).toBe(5);
    expect(havana(17, '2026-11-01T05:00:00Z')).toBe(7);
    expect(havana(20, '2026-11-02T04:59:59Z')).toBe(10);
    expect(havana(21, '2026-11-02T05:00:00Z')).toBe(0);
    // Beirut goes back from 00:00 to 23:00: the Saturday has 25 hours.
    const beirut = counted('daily', 'Asia/Beirut');
    expect(beirut(10, '2026-10-24T20:59:59Z')).toBe(0);
    expect(beirut(12, '2026-10-24T21:59:59Z')).toBe(2);
    expect(beirut(13, '2026-10-24T22:00:00Z')).toBe(0);
  });

  test('weeks on Monday, months and quarters on their first day', () => {
    const [week, month, quarter] = [counted('weekly'), counted('monthly'), counted('quarterly')];
    const all = (value: number, iso: string) => [week(value, iso), month(value, iso), quarter(value, iso)];
    expect(all(100, '2026-09-28T00:00:00Z')).toEqual([0, 0, 0]);
    expect(all(110, '2026-09-30T21:59:59.999Z')).toEqual([10, 10, 10]);
    // Thursday, 1 October: a month and a quarter, but no week, begin.
    expect(all(120, '2026-09-30T22:00:00Z')).toEqual([20, 0, 0]);
    expect(all(130, '2026-10-04T21:59:59.999Z')).toEqual([30, 10, 10]);
    expect(all(140, '2026-10-04T22:00:00Z')).toEqual([0, 20, 20]);
    // Sunday, 1 November: a month begins within week and quarter.
    expect(all(150, '2026-10-31T23:00:00Z')).toEqual([0, 0, 30]);
    expect(all(160, '2026-11-01T22:59:59Z')).toEqual([10, 10, 40]);
    expect(all(170, '2026-11-01T23:00:00Z')).toEqual([0, 20, 50]);
  });

  test('skipped periods leave nothing behind', () => {
    const today = counted('daily');
    today(100, '2026-05-01T12:00:00Z');
    expect(today(900, '2026-05-09T12:00:00Z')).toBe(0);
    expect(today(905, '2026-05-09T13:00:00Z')).toBe(5);
  });
});

describe('[rules §4.6] the count before a counter reset is kept', () => {
  test('over several resets, and over a restart between any two values', () => {
    const today = counted('daily');
    const at = (hour: number) => Date.parse('2026-05-01T04:00:00Z') + hour * hourMs;
    expect([100, 130, 0, 20, 5, 5, 6].map((value, hour) => today(value, at(hour)))).toEqual([
      0, 30, 30, 50, 50, 50, 51,
    ]);
  });

  test('a counter that starts again while the engine is down', () => {
    const today = counted('daily');
    expect(today(500, '2026-05-01T08:00:00Z')).toBe(0);
    expect(today(560, '2026-05-01T09:00:00Z')).toBe(60);
    // The last value before the restart is part of the memory: nothing of the 60 is lost.
    expect(today(3, '2026-05-01T15:00:00Z')).toBe(60);
    expect(today(10, '2026-05-01T16:00:00Z')).toBe(67);
  });

  test('counters below zero, and one that is reset into the next period', () => {
    const today = counted('daily');
    expect(today(-10, '2026-05-01T08:00:00Z')).toBe(0);
    expect(today(-4, '2026-05-01T09:00:00Z')).toBe(6);
    expect(today(-20, '2026-05-01T22:00:00Z')).toBe(0);
    expect(today(-15, '2026-05-01T23:00:00Z')).toBe(5);
  });

  test('as the sum of all growth since the period began', () => {
    const reading = fc.record({
      value: fc.integer({ min: -1000, max: 1_000_000 }),
      waitMs: fc.constantFrom(0, 1000, hourMs, 5 * hourMs, 23 * hourMs, 24 * hourMs, 200 * hourMs),
    });
    const periods = fc.constantFrom<Period>('daily', 'weekly', 'monthly', 'quarterly');
    const zones = fc.constantFrom(amsterdam, 'Asia/Kathmandu', 'America/Havana', 'Asia/Beirut', 'UTC');
    fc.assert(
      fc.property(periods, zones, fc.array(reading, { maxLength: 40 }), (period, timezone, readings) => {
        const delta = counted(period, timezone);
        let atMs = Date.parse('2026-03-20T00:00:00Z');
        let [current, previous, sum] = [Number.NaN, 0, 0];
        for (const { value, waitMs } of readings) {
          atMs += waitMs;
          const number = periodNumber(localMs(atMs, timezone), period);
          sum = number === current ? sum + Math.max(0, value - previous) : 0;
          [current, previous] = [number, value];
          expect(delta(value, atMs)).toBe(sum);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('a wall clock that is set', () => {
  test('back over midnight by up to an hour: the period that began stays; by more: that day is begun again', () => {
    const midnightMs = Date.parse('2026-05-01T22:00:00Z');
    const today = counted('daily');
    today(100, midnightMs);
    expect(today(105, midnightMs - hourMs)).toBe(5);
    expect(today(107, midnightMs + 1)).toBe(7);
    expect(today(109, midnightMs - hourMs - 1)).toBe(0);
    expect(today(112, midnightMs - 1)).toBe(3);
  });

  test('far ahead and back again: the counter does not wait for the future', () => {
    const today = counted('daily');
    today(100, '2026-05-01T12:00:00Z');
    expect(today(101, '2031-05-01T12:00:00Z')).toBe(0);
    expect(today(102, '2026-05-01T12:00:05Z')).toBe(0);
    expect(today(104, '2026-05-01T13:00:00Z')).toBe(2);
  });
});
