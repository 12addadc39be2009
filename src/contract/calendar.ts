/**
 * The calendar transforms by the name that declarations use [data-processing §4.9]: pure functions of an interval-end label and
 * the site's place. A new one is an entry of `calendarTransforms`.
 */
import { getPosition } from 'suncalc';
import { dayMs } from '../base/timestamp.ts';
import { hourOfDay, localMs, monthOf, weekdayOf } from '../site/local-time.ts';

export interface CalendarPlace {
  /** The task's zone. */
  readonly timezone: string;
  /** From site.yaml; null when it gives no coordinates. */
  readonly latitude: number | null;
  readonly longitude: number | null;
  /** Local dates, `YYYY-MM-DD`. */
  readonly holidays: ReadonlySet<string>;
}

export interface CalendarTransform {
  readonly unit: '1' | 'deg';
  /** Semantic name of the source in provenance. */
  readonly sourceRef: string;
  /** True when site.yaml must give latitude and longitude. */
  readonly needsPlace: boolean;
  at(labelMs: number, place: CalendarPlace): number;
}

export const calendarTransforms = {
  /** 0 at local midnight to 95. */
  quarter_hour_of_day_zero_based: fromLocalTime('calendar.quarter_hour', (local) => Math.floor(hourOfDay(local) * 4)),
  /** 0 to 23. */
  hour_of_day: fromLocalTime('calendar.hour_of_day', (local) => Math.floor(hourOfDay(local))),
  /** 1 (Monday) to 7 (Sunday). */
  day_of_week: fromLocalTime('calendar.day_of_week', weekdayOf),
  /** 1 to 12. */
  month_of_year: fromLocalTime('calendar.month_of_year', monthOf),
  is_weekend: fromLocalTime('calendar.is_weekend', (local) => (weekdayOf(local) >= 6 ? 1 : 0)),
  /** 1 on the local dates that site.yaml lists as holidays, else 0. */
  is_holiday: {
    unit: '1',
    sourceRef: 'calendar.is_holiday',
    needsPlace: false,
    at(labelMs, place) {
      if (place.holidays.size === 0) return 0;
      const date = new Date(localMs(labelMs, place.timezone)).toISOString().slice(0, 10);
      return place.holidays.has(date) ? 1 : 0;
    },
  },
  day_of_year_sin: fromLocalTime('calendar.day_of_year_sin', (local) => Math.sin(angleOfYear(local))),
  day_of_year_cos: fromLocalTime('calendar.day_of_year_cos', (local) => Math.cos(angleOfYear(local))),
  /** Height of the sun above the horizon in degrees, refraction included, below 0 at night. */
  solar_elevation: {
    unit: 'deg',
    sourceRef: 'calendar.solar_elevation',
    needsPlace: true,
    at(labelMs, { latitude, longitude }) {
      if (latitude === null || longitude === null) throw new Error('solar_elevation was commissioned without a place');
      return getPosition(new Date(labelMs), latitude, longitude).altitude;
    },
  },
} as const satisfies Record<string, CalendarTransform>;

export type CalendarTransformName = keyof typeof calendarTransforms;

export function isCalendarTransform(name: string): name is CalendarTransformName {
  return Object.hasOwn(calendarTransforms, name);
}

/** A transform that needs only the local clock and date of the label. */
function fromLocalTime(sourceRef: string, read: (local: number) => number): CalendarTransform {
  return {
    unit: '1',
    sourceRef,
    needsPlace: false,
    at: (labelMs, place) => read(localMs(labelMs, place.timezone)),
  };
}

/** The place in the year as an angle: 2π(day − 1)/365.25. */
function angleOfYear(local: number): number {
  const newYear = Date.UTC(new Date(local).getUTCFullYear(), 0, 1);
  return (2 * Math.PI * Math.floor((local - newYear) / dayMs)) / 365.25;
}
