/** The registry of calendar transforms, by the name that declarations use [data-processing §4.9]. */
import { dayOfWeek, isWeekend } from './day-of-week.ts';
import { dayOfYearCos, dayOfYearSin } from './day-of-year.ts';
import { hour } from './hour-of-day.ts';
import { isHoliday } from './is-holiday.ts';
import { month } from './month-of-year.ts';
import { quarterHourOfDay } from './quarter-hour.ts';
import { solarElevation } from './solar-elevation.ts';
import type { CalendarTransform } from './transform.ts';

export const calendarTransforms = {
  quarter_hour_of_day_zero_based: quarterHourOfDay,
  hour_of_day: hour,
  day_of_week: dayOfWeek,
  month_of_year: month,
  is_weekend: isWeekend,
  is_holiday: isHoliday,
  day_of_year_sin: dayOfYearSin,
  day_of_year_cos: dayOfYearCos,
  solar_elevation: solarElevation,
} as const satisfies Record<string, CalendarTransform>;

export type CalendarTransformName = keyof typeof calendarTransforms;

export function isCalendarTransform(name: string): name is CalendarTransformName {
  return Object.hasOwn(calendarTransforms, name);
}
