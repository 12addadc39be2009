/**
 * RFC 3339 UTC timestamps as the contract writes them [data-processing §1.3]: real dates, years
 * 1970..9999, seconds 00..59, at most milliseconds, `Z` only; one spelling for each instant when written.
 */

import { Fault } from './fault.ts';

/** Without a fraction of a second. */
const wholeLength = '2026-07-11T12:00:00Z'.length;
/** A point and three digits more. */
const lengthMax = wholeLength + 4;
/** Between the numbers: where, and the code of the character. */
const marks = (['4-', '7-', '10T', '13:', '16:'] as const).map(
  (mark) => [Number.parseInt(mark, 10), mark.charCodeAt(mark.length - 1)] as const,
);
const zuluCode = 'Z'.charCodeAt(0);
const pointCode = '.'.charCodeAt(0);
const zeroCode = '0'.charCodeAt(0);
/** Units of each digit of a fraction, in milliseconds. */
const fractionUnits = [100, 10, 1] as const;
/** The date that was read last, and when it begins: files and frames have thousands of instants of a few days. */
let readDate = '';
let readDayMs = Number.NaN;

/**
 * Milliseconds since the epoch, or null when `text` is not a timestamp of the contract. Digit by digit: a pattern and a list of its
 * groups take ten times as long, and a history file has millions of them.
 */
export function parseTimestamp(text: string): number | null {
  if (text.length < wholeLength || text.length > lengthMax || text.charCodeAt(text.length - 1) !== zuluCode)
    return null;
  for (let index = 0; index < marks.length; index++) {
    const [at, code] = marks[index] as readonly [number, number];
    if (text.charCodeAt(at) !== code) return null;
  }
  const [hour, minute, second] = [digits(text, 11, 2), digits(text, 14, 2), digits(text, 17, 2)];
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return null;
  const fraction = text.length === wholeLength ? 0 : fractionOf(text);
  const beginMs = dayOf(text);
  const ms = beginMs + (hour * 3600 + minute * 60 + second) * 1000 + fraction;
  return Number.isNaN(ms) ? null : ms;
}

/** The number that these characters write; NaN unless all are digits. */
function digits(text: string, from: number, count: number): number {
  let value = 0;
  for (let at = from; at < from + count; at++) {
    const digit = text.charCodeAt(at) - zeroCode;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    value = 10 * value + digit;
  }
  return value;
}

/** In milliseconds; NaN unless it is a point and one to three digits. */
function fractionOf(text: string): number {
  const count = text.length - wholeLength - 1;
  if (text.charCodeAt(wholeLength - 1) !== pointCode || count < 1) return Number.NaN;
  return digits(text, wholeLength, count) * (fractionUnits[count - 1] as number);
}

/** The first millisecond of the date; NaN if there is no such date. */
function dayOf(text: string): number {
  const date = text.slice(0, 10);
  if (date === readDate) return readDayMs;
  const [year, month, day] = [digits(text, 0, 4), digits(text, 5, 2), digits(text, 8, 2)];
  const ms = Date.UTC(year, month - 1, day);
  // Date.UTC carries 30 February over into March: only a date that comes back is real.
  const back = new Date(ms);
  const isReal = year >= 1970 && back.getUTCMonth() === month - 1 && back.getUTCDate() === day;
  readDate = date;
  readDayMs = isReal ? ms : Number.NaN;
  return readDayMs;
}

export const minuteMs = 60_000;
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

/** For names of files and folders, in their order: `20260815T120000Z`. */
export function timeInName(wallMs: number): string {
  return timeLabel(wallMs).replaceAll(/[-:]|\.\d+/g, '');
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
