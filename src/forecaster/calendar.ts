/**
 * Where each cell of a grid lies in the site's day and week. The middle of the interval decides, because labels are
 * interval ends [data-processing §3.2]: the cell that ends at midnight belongs to the day before.
 */
import { dayMs } from '../base/timestamp.ts';
import { weekdayOf } from '../site/local-time.ts';

export interface Calendar {
  /** Hours into the local day, 0 ≤ x < 24. */
  readonly hours: Float64Array;
  /** Local days since 1970-01-01. */
  readonly day: Int32Array;
  /** 0 = Monday … 6 = Sunday. */
  readonly weekday: Uint8Array;
  /** Elapsed part of the year, 0 ≤ x < 1. */
  readonly yearPart: Float64Array;
}

const hourMs = 3_600_000;

/** `startMs` is local time, counted as if the zone were UTC (`local-grid.ts`). */
export function calendarOf(startMs: number, cadenceMs: number, count: number): Calendar {
  const hours = new Float64Array(count);
  const day = new Int32Array(count);
  const weekday = new Uint8Array(count);
  const yearPart = new Float64Array(count);
  for (let cell = 0; cell < count; cell++) {
    const middleMs = startMs + (cell - 0.5) * cadenceMs;
    const localDay = Math.floor(middleMs / dayMs);
    hours[cell] = (middleMs - localDay * dayMs) / hourMs;
    day[cell] = localDay;
    weekday[cell] = weekdayOf(middleMs) - 1;
    yearPart[cell] = (middleMs / (365.2425 * dayMs)) % 1;
  }
  return { hours, day, weekday, yearPart };
}
