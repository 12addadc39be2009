/** Local calendars [rules §4.6], [rules §5.2] on days when clocks change, and against the runtime's own calendar. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hourOfDay, isTimeZone, localMs, monthOf, type Period, periodNumber, weekdayOf } from './local-time.ts';

const amsterdam = 'Europe/Amsterdam';
const hourAt = (iso: string, timezone = amsterdam): number => hourOfDay(localMs(Date.parse(iso), timezone));
const numberAt = (iso: string, period: Period, timezone = amsterdam): number =>
  periodNumber(localMs(Date.parse(iso), timezone), period);
/** How many periods lie between two moments. */
const passed = (from: string, to: string, period: Period, timezone = amsterdam): number =>
  numberAt(to, period, timezone) - numberAt(from, period, timezone);

describe('[rules §5.2] time_of_day follows the clocks on the wall', () => {
  test('the spring day of 23 hours leaves out 2 to 3 o’clock', () => {
    expect(hourAt('2026-03-28T23:00:00Z')).toBe(0);
    expect(hourAt('2026-03-29T00:59:59.999Z')).toBeCloseTo(2, 5);
    expect(hourAt('2026-03-29T00:59:59.999Z')).toBeLessThan(2);
    expect(hourAt('2026-03-29T01:00:00Z')).toBe(3);
    expect(hourAt('2026-03-29T21:59:59.999Z')).toBeLessThan(24);
    expect(hourAt('2026-03-29T22:00:00Z')).toBe(0);
  });

  test('the autumn day of 25 hours has 2 to 3 o’clock twice', () => {
    expect(hourAt('2026-10-24T22:00:00Z')).toBe(0);
    expect([hourAt('2026-10-25T00:30:00Z'), hourAt('2026-10-25T01:30:00Z')]).toEqual([2.5, 2.5]);
    expect(hourAt('2026-10-25T00:59:59.999Z')).toBeLessThan(3);
    expect(hourAt('2026-10-25T01:00:00Z')).toBe(2);
    expect(hourAt('2026-10-25T22:59:59.999Z')).toBeLessThan(24);
    expect(hourAt('2026-10-25T23:00:00Z')).toBe(0);
  });

  test('offsets of quarter and half hours, and clocks that change by half an hour', () => {
    expect(hourAt('2026-01-01T00:00:00Z', 'Asia/Kathmandu')).toBe(5.75);
    expect(hourAt('2026-01-01T00:00:00Z', 'Pacific/Chatham')).toBe(13.75);
    expect(hourAt('2026-01-01T00:00:00Z', 'America/St_Johns')).toBe(20.5);
    // Lord Howe Island: 02:00 becomes 02:30 on 2026-10-04.
    expect(hourAt('2026-10-03T15:29:59.999Z', 'Australia/Lord_Howe')).toBeLessThan(2);
    expect(hourAt('2026-10-03T15:30:00Z', 'Australia/Lord_Howe')).toBe(2.5);
  });
});

describe('[rules §4.6] periods begin at local midnight', () => {
  test('a day begins at midnight of its zone, on the days when clocks change too', () => {
    for (const [last, first] of [
      ['2026-03-28T22:59:59.999Z', '2026-03-28T23:00:00Z'],
      ['2026-03-29T21:59:59.999Z', '2026-03-29T22:00:00Z'],
      ['2026-10-24T21:59:59.999Z', '2026-10-24T22:00:00Z'],
      ['2026-10-25T22:59:59.999Z', '2026-10-25T23:00:00Z'],
    ] as const)
      expect(passed(last, first, 'daily')).toBe(1);
    expect(passed('2026-03-28T23:00:00Z', '2026-03-29T21:59:59.999Z', 'daily')).toBe(0);
    expect(passed('2026-10-24T22:00:00Z', '2026-10-25T22:59:59.999Z', 'daily')).toBe(0);
  });

  test('one moment is two days in two zones', () => {
    expect(passed('2026-06-01T14:59:59Z', '2026-06-01T15:00:00Z', 'daily', 'Asia/Tokyo')).toBe(1);
    expect(passed('2026-06-01T14:59:59Z', '2026-06-01T15:00:00Z', 'daily')).toBe(0);
  });

  test('weeks begin on Monday, over the end of a year and before 1970 too', () => {
    // 2026-10-26 is the Monday after the clocks went back.
    expect(passed('2026-10-25T22:59:59.999Z', '2026-10-25T23:00:00Z', 'weekly')).toBe(1);
    expect(passed('2026-03-29T21:59:59.999Z', '2026-03-29T22:00:00Z', 'weekly')).toBe(1);
    expect(passed('2026-12-27T23:00:00Z', '2027-01-03T22:59:59.999Z', 'weekly')).toBe(0);
    expect(passed('2027-01-03T22:59:59.999Z', '2027-01-03T23:00:00Z', 'weekly')).toBe(1);
    expect(passed('1969-12-28T23:59:59Z', '1969-12-29T00:00:00Z', 'weekly', 'UTC')).toBe(1);
    expect(weekdayOf(localMs(Date.parse('2026-10-25T23:00:00Z'), amsterdam))).toBe(1);
    expect(weekdayOf(localMs(Date.parse('2026-10-25T22:59:59Z'), amsterdam))).toBe(7);
  });

  test('months and quarters begin on their first day, leap years too', () => {
    expect(passed('2028-02-28T23:00:00Z', '2028-02-29T22:59:59.999Z', 'monthly')).toBe(0);
    expect(passed('2028-02-29T22:59:59.999Z', '2028-02-29T23:00:00Z', 'monthly')).toBe(1);
    expect(passed('2026-12-31T22:59:59.999Z', '2026-12-31T23:00:00Z', 'monthly')).toBe(1);
    const firsts = ['2026-03-31T22:00:00Z', '2026-06-30T22:00:00Z', '2026-09-30T22:00:00Z', '2026-12-31T23:00:00Z'];
    for (const first of firsts) {
      const before = new Date(Date.parse(first) - 1).toISOString();
      expect(passed(before, first, 'quarterly')).toBe(1);
      expect(passed(before, first, 'monthly')).toBe(1);
    }
    expect(passed('2026-01-31T22:59:59Z', '2026-01-31T23:00:00Z', 'quarterly')).toBe(0);
  });
});

describe('against the runtime’s own calendar', () => {
  const zones = [amsterdam, 'UTC', 'Asia/Kathmandu', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia'];
  const formats = new Map(
    zones.map((timeZone) => [
      timeZone,
      new Intl.DateTimeFormat('en-GB', {
        timeZone,
        hourCycle: 'h23',
        weekday: 'short',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      }),
    ]),
  );
  const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
  const moment = fc.integer({ min: Date.UTC(2014, 0, 1) / 1000, max: Date.UTC(2060, 0, 1) / 1000 });
  const partsOf = (wallMs: number, timezone: string): Record<string, string> => {
    const parts = formats.get(timezone)?.formatToParts(wallMs) ?? [];
    return Object.fromEntries(parts.map(({ type, value }) => [type, value]));
  };

  test('hour, weekday and month of any moment', () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), moment, (timezone, seconds) => {
        const local = localMs(seconds * 1000, timezone);
        const parts = partsOf(seconds * 1000, timezone);
        const hours = Number(parts['hour']) + Number(parts['minute']) / 60 + Number(parts['second']) / 3600;
        expect(hourOfDay(local)).toBeCloseTo(hours, 9);
        expect(days[weekdayOf(local) - 1]).toBe(parts['weekday']);
        expect(monthOf(local)).toBe(Number(parts['month']));
        const year = Number(parts['year']);
        const quarter = Math.ceil(Number(parts['month']) / 3);
        expect(periodNumber(local, 'quarterly')).toBe(year * 4 + quarter - 1);
      }),
      { numRuns: 500 },
    );
  });

  test('the order of questions, and other zones asked between, change no answer', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...zones), moment), { minLength: 1, maxLength: 8 }), (asked) => {
        const answers = asked.map(([timezone, seconds]) => localMs(seconds * 1000, timezone));
        const again = [...asked].reverse().map(([timezone, seconds]) => localMs(seconds * 1000, timezone));
        expect(again.reverse()).toEqual(answers);
      }),
      { numRuns: 100 },
    );
  });
});

describe('[rules §4.6] timezone is an IANA name', () => {
  test.each(['Europe/Amsterdam', 'UTC', 'Etc/GMT+5', 'America/Argentina/Buenos_Aires'])('%s is', (name) =>
    expect(isTimeZone(name)).toBe(true),
  );
  test.each(['', '+01:00', '-0530', 'Europe/Nowhere', 'Mars', ' UTC', '__proto__', 'Europe/Amsterdam '])(
    '%j is not',
    (name) => expect(isTimeZone(name)).toBe(false),
  );
});
