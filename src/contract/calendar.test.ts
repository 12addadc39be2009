/** Calendar transforms [data-processing §4.9]: of the interval-end label, in the declared zone. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CalendarPlace, CalendarTransform } from './calendar.ts';
import { type CalendarTransformName, calendarTransforms, isCalendarTransform } from './calendar.ts';

const place = (timezone: string, holidays: string[] = []): CalendarPlace => ({
  timezone,
  latitude: 52.37,
  longitude: 4.9,
  holidays: new Set(holidays),
});
const at = (name: CalendarTransformName, time: string, zone = place('UTC')): number => {
  const transform: CalendarTransform = calendarTransforms[name];
  return transform.at(Date.parse(time), zone);
};

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** Local time and date of this one label, from the runtime. */
function calendarOf(labelMs: number, timeZone: string) {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  const parts = new Map(format.formatToParts(labelMs).map(({ type, value }) => [type, value] as const));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  return {
    year: part('year'),
    month: part('month'),
    day: part('day'),
    hour: part('hour'),
    minute: part('minute'),
    weekday: part('weekday'),
  };
}

describe('the cases Q', () => {
  test.each([
    ['Q01', '00:00:00', 0],
    ['Q03', '11:15:00', 45],
    ['Q05', '23:45:00', 95],
  ])('%s: quarter_hour_of_day_zero_based at label %s is %d', (_name, time, value) => {
    expect(at('quarter_hour_of_day_zero_based', `2026-07-11T${time}Z`)).toBe(value);
  });
});

describe('[data-processing §4.9] Calendar', () => {
  test.each<[CalendarTransformName, string, string, number]>([
    ['hour_of_day', '2026-07-11T00:00:00Z', 'UTC', 0],
    ['hour_of_day', '2026-07-11T23:59:59.999Z', 'UTC', 23],
    ['hour_of_day', '2026-07-11T00:00:00Z', 'Europe/Amsterdam', 2],
    ['day_of_week', '2026-07-06T00:00:00Z', 'UTC', 1],
    ['day_of_week', '2026-07-12T23:59:59Z', 'UTC', 7],
    ['day_of_week', '2026-07-12T23:00:00Z', 'Europe/Amsterdam', 1],
    ['is_weekend', '2026-07-10T23:59:59Z', 'UTC', 0],
    ['is_weekend', '2026-07-11T00:00:00Z', 'UTC', 1],
    ['is_weekend', '2026-07-13T00:00:00Z', 'UTC', 0],
    ['month_of_year', '2026-12-31T23:00:00Z', 'Europe/Amsterdam', 1],
    ['month_of_year', '2026-12-31T22:59:59Z', 'Europe/Amsterdam', 12],
    ['quarter_hour_of_day_zero_based', '2026-03-29T01:00:00Z', 'Europe/Amsterdam', 12],
    ['quarter_hour_of_day_zero_based', '2026-10-25T01:00:00Z', 'Europe/Amsterdam', 8],
    ['quarter_hour_of_day_zero_based', '2026-07-11T00:00:00Z', 'Asia/Kathmandu', 23],
  ])('%s at %s in %s is %d', (name, time, zone, value) => expect(at(name, time, place(zone))).toBe(value));

  test('is_holiday: the local dates of site.yaml', () => {
    const site = place('Europe/Amsterdam', ['2026-12-25']);
    expect(at('is_holiday', '2026-12-24T22:59:59Z', site)).toBe(0);
    expect(at('is_holiday', '2026-12-24T23:00:00Z', site)).toBe(1);
    expect(at('is_holiday', '2026-12-25T23:00:00Z', site)).toBe(0);
  });

  test('day_of_year_sin and _cos of 2π(day−1)/365.25', () => {
    expect(at('day_of_year_sin', '2026-01-01T00:00:00Z')).toBe(0);
    expect(at('day_of_year_cos', '2026-01-01T00:00:00Z')).toBe(1);
    expect(at('day_of_year_sin', '2026-04-02T00:00:00Z')).toBeCloseTo(Math.sin((2 * Math.PI * 91) / 365.25), 12);
    expect(at('day_of_year_cos', '2024-12-31T00:00:00Z')).toBeCloseTo(Math.cos((2 * Math.PI * 365) / 365.25), 12);
  });

  test('solar_elevation in degrees: high at noon in June, low in December, below the horizon at night', () => {
    expect(at('solar_elevation', '2026-06-21T11:43:00Z')).toBeCloseTo(90 - 52.37 + 23.44, 0);
    expect(at('solar_elevation', '2026-12-21T11:39:00Z')).toBeCloseTo(90 - 52.37 - 23.44, 0);
    expect(at('solar_elevation', '2026-06-21T23:43:00Z')).toBeLessThan(-10);
  });

  test('units: 1, and deg for the elevation; names are exact', () => {
    for (const [name, transform] of Object.entries(calendarTransforms))
      expect(transform.unit).toBe(name === 'solar_elevation' ? 'deg' : '1');
    expect([
      isCalendarTransform('hour_of_day'),
      isCalendarTransform('Hour_of_day'),
      isCalendarTransform('toString'),
    ]).toEqual([true, false, false]);
  });

  test('agrees with an independent calendar, in every zone and on days of 23 and 25 hours', () => {
    const zones = fc.constantFrom(
      'UTC',
      'Europe/Amsterdam',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
    );
    const quarterMs = 900_000;
    const labels = fc.integer({ min: Date.UTC(2015, 0, 1) / quarterMs, max: Date.UTC(2035, 0, 1) / quarterMs });
    fc.assert(
      fc.property(labels, zones, (quarter, zone) => {
        const labelMs = quarter * quarterMs;
        const local = calendarOf(labelMs, zone);
        const site = place(zone, [`${local.year}-${local.month}-${local.day}`]);
        const read = (name: CalendarTransformName): number => {
          const transform: CalendarTransform = calendarTransforms[name];
          return transform.at(labelMs, site);
        };
        expect([
          read('quarter_hour_of_day_zero_based'),
          read('hour_of_day'),
          read('day_of_week'),
          read('month_of_year'),
          read('is_weekend'),
          read('is_holiday'),
        ]).toEqual([
          Number(local.hour) * 4 + Math.floor(Number(local.minute) / 15),
          Number(local.hour),
          weekdays.indexOf(local.weekday) + 1,
          Number(local.month),
          weekdays.indexOf(local.weekday) >= 5 ? 1 : 0,
          1,
        ]);
        const newYear = Date.UTC(Number(local.year), 0, 1);
        const days = (Date.UTC(Number(local.year), Number(local.month) - 1, Number(local.day)) - newYear) / 86_400_000;
        const angle = (2 * Math.PI * days) / 365.25;
        expect(read('day_of_year_sin')).toBeCloseTo(Math.sin(angle), 12);
      }),
      { numRuns: 300 },
    );
  });
});
