/**
 * RFC 3339 UTC timestamps as the contract writes them [data-processing §1.3]: real dates, years
 * 1970..9999, seconds 00..59, at most milliseconds, `Z` only; one spelling for each instant when written.
 */

import { Fault } from './fault.ts';

const pattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,3}))?Z$/;

/** Milliseconds since the epoch, or null when `text` is not a timestamp of the contract. */
export function parseTimestamp(text: string): number | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  if (year < 1970 || hour > 23 || minute > 59 || second > 59) return null;
  const ms = Date.UTC(year, month - 1, day, hour, minute, second, Number((match[7] ?? '').padEnd(3, '0')));
  // Date.UTC carries 30 February over into March: only a date that comes back is real.
  const back = new Date(ms);
  return back.getUTCMonth() === month - 1 && back.getUTCDate() === day ? ms : null;
}

export const hourMs = 3_600_000;
export const dayMs = 86_400_000;
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
/** The date that was written last: the labels of a frame are thousands of instants of a few days. */
let lastDay = Number.NaN;
let lastDate = '';

/** The one spelling of an instant: no fraction when it is zero, else 3 digits. */
export function formatTimestamp(ms: number): string {
  const day = Math.floor(ms / dayMs);
  if (day !== lastDay) {
    lastDate = new Date(day * dayMs).toISOString().slice(0, -13);
    lastDay = day;
  }
  const inDay = Math.floor(ms) - day * dayMs;
  const seconds = Math.floor(inDay / 1000);
  const fraction = inDay % 1000;
  const hour = twoDigits[Math.floor(seconds / 3600)];
  const minute = twoDigits[Math.floor(seconds / 60) % 60];
  const text = `${lastDate}${hour}:${minute}:${twoDigits[seconds % 60]}`;
  return fraction === 0 ? `${text}Z` : `${text}.${String(fraction).padStart(3, '0')}Z`;
}

/** The last instant of year 9999: later labels have no spelling in RFC 3339. */
const lastLabelMs = 253_402_300_799_999;

/** A wall moment as the label of an event, with milliseconds; moments outside 1970..9999 get the nearest label. */
export function timeLabel(wallMs: number): string {
  return new Date(Math.min(Math.max(Math.round(wallMs), 0), lastLabelMs)).toISOString();
}

/** A time in a query; throws a Fault that says how to write it. */
export function queryTime(name: string, text: string): number {
  const ms = parseTimestamp(text);
  if (ms === null)
    throw new Fault('invalid-input', `query /${name}: must be RFC 3339 UTC, such as 2026-07-11T10:45:00Z`);
  return ms;
}

/** The window of a query, in milliseconds: without `to` it ends now, and without `from` it is a day long. */
export function queryWindow(
  { from, to }: Readonly<Record<string, string | undefined>>,
  nowMs: number,
): { readonly fromMs: number; readonly toMs: number } {
  const toMs = to === undefined ? nowMs : queryTime('to', to);
  const fromMs = from === undefined ? toMs - dayMs : queryTime('from', from);
  if (!(fromMs < toMs)) throw new Fault('invalid-input', 'query /from: must be before to');
  return { fromMs, toMs };
}
