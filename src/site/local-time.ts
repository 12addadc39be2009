/**
 * Local calendar of an IANA zone from wall milliseconds, without Date and fast enough for every run of a rule and every
 * label of a frame: the zone's offset is cached once per UTC day, or once per quarter hour on a day with
 * a change (offsets change on quarter hours, and never twice in a day), and the rest is integer arithmetic, so that days
 * of 23 and 25 hours are correct.
 */
import { dayMs } from '../base/timestamp.ts';

const quarterHourMs = 900_000;

/** A day's offset, or one for each of its quarter hours. */
type DayOffset = number | readonly number[];

interface ZoneCache {
  readonly format: Intl.DateTimeFormat;
  readonly days: Map<number, DayOffset>;
}

/** Cached days per zone; beyond it the cache is cleared. */
const rememberedDays = 4096;

const zones = new Map<string, ZoneCache>();

/** True for a known IANA zone; false for an offset such as +01:00, although runtimes accept it. */
export function isTimeZone(timezone: string): boolean {
  if (!/^[A-Za-z]/.test(timezone)) return false;
  try {
    // Not cached: only zones in use are.
    return new Intl.DateTimeFormat('en-US', { timeZone: timezone }).resolvedOptions().timeZone !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Milliseconds since 1970-01-01T00:00 on the zone's clocks. */
export function localMs(wallMs: number, timezone: string): number {
  const zone = zoneOf(timezone);
  const day = Math.floor(wallMs / dayMs);
  let offset = zone.days.get(day);
  if (offset === undefined) {
    offset = offsetOfDay(zone.format, day);
    if (zone.days.size >= rememberedDays) zone.days.clear();
    zone.days.set(day, offset);
  }
  if (typeof offset === 'number') return wallMs + offset;
  return wallMs + (offset[Math.floor((wallMs - day * dayMs) / quarterHourMs)] ?? 0);
}

/** Hours since local midnight on the zone's clocks, 0 <= h < 24, with fraction. */
export function hourOfDay(local: number): number {
  return (local - Math.floor(local / dayMs) * dayMs) / 3_600_000;
}

/** 1 (Monday) to 7 (Sunday). */
export function weekdayOf(local: number): number {
  // Day 0, 1970-01-01, was a Thursday.
  return ((((Math.floor(local / dayMs) + 3) % 7) + 7) % 7) + 1;
}

/** 1 to 12. */
export function monthOf(local: number): number {
  return civil(Math.floor(local / dayMs)).month;
}

export type Period = 'daily' | 'weekly' | 'monthly' | 'quarterly';

/** A number that is equal for two moments of one period and grows from period to period. Weeks begin on Monday. */
export function periodNumber(local: number, period: Period): number {
  const day = Math.floor(local / dayMs);
  switch (period) {
    case 'daily':
      return day;
    case 'weekly':
      return Math.floor((day + 3) / 7);
    case 'monthly': {
      const { year, month } = civil(day);
      return year * 12 + month - 1;
    }
    case 'quarterly': {
      const { year, month } = civil(day);
      return year * 4 + Math.floor((month - 1) / 3);
    }
  }
}

function zoneOf(timezone: string): ZoneCache {
  let zone = zones.get(timezone);
  if (zone === undefined) {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    zone = { format, days: new Map() };
    zones.set(timezone, zone);
  }
  return zone;
}

function offsetOfDay(format: Intl.DateTimeFormat, day: number): DayOffset {
  const startMs = day * dayMs;
  const atStart = offsetAt(format, startMs);
  if (offsetAt(format, startMs + dayMs) === atStart) return atStart;
  return Array.from({ length: dayMs / quarterHourMs }, (_, index) => offsetAt(format, startMs + index * quarterHourMs));
}

function offsetAt(format: Intl.DateTimeFormat, wallMs: number): number {
  const parts: Record<string, number> = {};
  for (const part of format.formatToParts(wallMs)) parts[part.type] = Number(part.value);
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - wallMs;
}

/** Year and month of a day number, by the Gregorian calendar's 400-year cycle. */
function civil(dayNumber: number): { year: number; month: number } {
  const shifted = dayNumber + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month };
}
