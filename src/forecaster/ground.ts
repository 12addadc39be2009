/**
 * Input of the features: the target with gaps imputed for lag features only (an imputed cell is never a training sample and never
 * an output), the calendar of every cell, and the kind of day.
 */
import { type Calendar, calendarOf } from './calendar.ts';
import type { Columns } from './learning.ts';
import type { Sample } from './sample.ts';
import { cellsPerDay } from './sample.ts';

export interface Ground {
  readonly sample: Sample;
  readonly perDay: number;
  /** Days between a cell and the newest target that it may use: the horizon in whole days. */
  readonly lagDays: number;
  /** The target with gaps filled; NaN where nothing is known. */
  readonly filled: Float64Array;
  readonly covariates: Columns;
  readonly names: readonly string[];
  readonly calendar: Calendar;
  /** Per cell: 0 working day, 1 Saturday, 2 Sunday or holiday. */
  readonly dayClass: Uint8Array;
}

/** Longest gap, in hours, that is filled by a straight line; longer ones are filled from the same time of neighbouring days. */
const lineHoursMax = 2;

/** The longest gap in cells that is filled by a straight line. */
export function lineCells(cadenceMs: number): number {
  return Math.max(1, Math.round((lineHoursMax * 3_600_000) / cadenceMs));
}

export function groundOf(sample: Sample): Ground {
  const perDay = cellsPerDay(sample.cadenceMs);
  const cells = sample.count + sample.horizon;
  const lineMax = lineCells(sample.cadenceMs);
  const calendar = calendarOf(sample.startMs, sample.cadenceMs, cells);
  const covariates = sample.covariates.map(({ values }) => closeGaps(values, lineMax, perDay));
  return {
    sample,
    perDay,
    lagDays: Math.ceil(sample.horizon / perDay),
    filled: closeGaps(sample.target, lineMax, perDay),
    covariates,
    names: sample.covariates.map(({ name }) => name),
    calendar,
    dayClass: dayClasses(calendar, covariates, perDay),
  };
}

/** Lines over short gaps, the same time of the nearest days over long ones, the nearest value at the ends. */
function closeGaps(values: Float64Array, lineMax: number, perDay: number): Float64Array {
  const closed = values.slice();
  let last = -1;
  for (let cell = 0; cell < values.length; cell++) {
    if (Number.isNaN(values[cell])) continue;
    const gap = cell - last - 1;
    if (gap > 0 && last >= 0 && gap <= lineMax) {
      const from = values[last] as number;
      const step = ((values[cell] as number) - from) / (gap + 1);
      for (let inner = 1; inner <= gap; inner++) closed[last + inner] = from + step * inner;
    }
    last = cell;
  }
  for (let cell = 0; cell < closed.length; cell++) {
    if (!Number.isNaN(closed[cell])) continue;
    let sum = 0;
    let found = 0;
    for (let days = 1; days <= 7 && found < 2; days++) {
      for (const other of [cell - days * perDay, cell + days * perDay]) {
        const value = values[other];
        if (value === undefined || Number.isNaN(value)) continue;
        sum += value;
        found++;
      }
    }
    if (found > 0) closed[cell] = sum / found;
  }
  return closed;
}

/** A 0/1 flag that is rare and constant over local days marks holidays, whatever its name; one that changes by the hour does not. */
function isHolidayFlag(values: Float64Array, calendar: Calendar): boolean {
  let ones = 0;
  for (let cell = 0; cell < values.length; cell++) {
    const value = values[cell];
    if (value !== 0 && value !== 1) return false;
    ones += value;
    // The cell that ends at midnight may carry the flag of either day.
    const isInside = calendar.day[cell - 1] === calendar.day[cell] && calendar.day[cell + 1] === calendar.day[cell];
    if (isInside && values[cell - 1] !== value) return false;
  }
  const days = (calendar.day.at(-1) ?? 0) - (calendar.day[0] ?? 0) + 1;
  // Days off are single or in short runs: at most a quarter of the days.
  return ones > 0 && ones / values.length < 0.25 && days >= 7;
}

function dayClasses(calendar: Calendar, covariates: Columns, perDay: number): Uint8Array {
  const classes = new Uint8Array(calendar.weekday.length);
  for (let cell = 0; cell < classes.length; cell++) classes[cell] = Math.max(0, (calendar.weekday[cell] as number) - 4);
  for (const values of covariates) {
    if (!isHolidayFlag(values, calendar) || perDay === 0) continue;
    for (let cell = 0; cell < classes.length; cell++) if (values[cell] === 1) classes[cell] = 2;
  }
  return classes;
}
