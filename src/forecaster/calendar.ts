/**
 * Where each cell of a grid lies in the site's day and week. The middle of the interval counts, because labels are
 * interval ends [data-processing §3.2]: the cell that ends at midnight belongs to the day before.
 */
import { dayMs } from '../base/timestamp.ts';

export interface Calendar {
  /** Hours into the local day, 0 ≤ x < 24. */
  readonly hours: Float64Array;
  /** Local days since 1970-01-01. */
  readonly day: Int32Array;
  /** 0 = Monday … 6 = Sunday. */
  readonly weekday: Uint8Array;
  /** Part of the year gone, 0 ≤ x < 1. */
  readonly yearPart: Float64Array;
}

const hourMs = 3_600_000;
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(timeZone: string): Intl.DateTimeFormat {
  let own = formatters.get(timeZone);
  if (own === undefined) {
    own = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
    formatters.set(timeZone, own);
  }
  return own;
}

/** The zone's offset from UTC at an instant, in milliseconds. */
function offsetMs(timeZone: string, atMs: number): number {
  const name = formatter(timeZone)
    .formatToParts(atMs)
    .find((part) => part.type === 'timeZoneName')?.value;
  const match = /GMT([+-])(\d{2}):(\d{2})(?::(\d{2}))?/.exec(name ?? '');
  if (match === null) return 0;
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  const size = Number(hours) * hourMs + Number(minutes) * 60_000 + Number(seconds) * 1000;
  return sign === '-' ? -size : size;
}

export function calendarOf(startMs: number, cadenceMs: number, count: number, timeZone: string): Calendar {
  const hours = new Float64Array(count);
  const day = new Int32Array(count);
  const weekday = new Uint8Array(count);
  const yearPart = new Float64Array(count);
  let offset = 0;
  let offsetHour = Number.NaN;
  for (let cell = 0; cell < count; cell++) {
    const middleMs = startMs + cell * cadenceMs - cadenceMs / 2;
    const hour = Math.floor(middleMs / hourMs);
    if (hour !== offsetHour) {
      offset = timeZone === 'UTC' ? 0 : offsetMs(timeZone, middleMs);
      offsetHour = hour;
    }
    const localMs = middleMs + offset;
    const localDay = Math.floor(localMs / dayMs);
    hours[cell] = (localMs - localDay * dayMs) / hourMs;
    day[cell] = localDay;
    // 1970-01-01 was a Thursday.
    weekday[cell] = (((localDay + 3) % 7) + 7) % 7;
    yearPart[cell] = (localMs / (365.2425 * dayMs)) % 1;
  }
  return { hours, day, weekday, yearPart };
}
