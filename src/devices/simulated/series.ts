/**
 * Measured series for replay: read from `time,value` files, with values for any moment, shifted by whole weeks of local
 * time so that weekday and hour of day match, linear between samples.
 */
import { localMs } from '../../site/local-time.ts';

export interface ReplaySeries {
  /** Local milliseconds of the site's zone, increasing. */
  readonly times: Float64Array;
  readonly values: Float64Array;
}

const weekMs = 604_800_000;

/**
 * Reads `time,value` lines, times in UTC and increasing; throws an Error whose message names file and line. When the
 * clocks go back, the second run through that hour is omitted: replay has one value per local time.
 */
export function readSeries(text: string, fileName: string, timezone: string): ReplaySeries {
  const lines = text.trimEnd().split(/\r?\n/);
  if (lines[0] !== 'time,value') throw new Error(`${fileName}:1: the header must be time,value`);
  const times: number[] = [];
  const values: number[] = [];
  let lastUtcMs = Number.NEGATIVE_INFINITY;
  lines.forEach((line, index) => {
    if (index === 0) return;
    const fault = (reason: string): Error => new Error(`${fileName}:${index + 1}: ${reason}`);
    const [time = '', value = '', ...more] = line.split(',');
    const utcMs = Date.parse(time);
    const number = value.trim() === '' ? Number.NaN : Number(value);
    if (Number.isNaN(utcMs) || !time.endsWith('Z') || !Number.isFinite(number) || more.length > 0)
      throw fault('not a UTC time and a number');
    if (utcMs <= lastUtcMs) throw fault('times must increase');
    lastUtcMs = utcMs;
    const local = localMs(utcMs, timezone);
    if (local <= (times.at(-1) ?? Number.NEGATIVE_INFINITY)) return;
    times.push(local);
    values.push(number);
  });
  if ((times.at(-1) ?? 0) - (times[0] ?? 0) < weekMs) throw new Error(`${fileName}: at least one week is needed`);
  return { times: Float64Array.from(times), values: Float64Array.from(values) };
}

/** The series' value at wall time `wallMs`. */
export function seriesValueAt(series: ReplaySeries, wallMs: number, timezone: string): number {
  const { times, values } = series;
  const first = times[0] ?? 0;
  const weeks = Math.floor(((times.at(-1) ?? 0) - first) / weekMs);
  const span = weeks * weekMs;
  const offset = (((localMs(wallMs, timezone) - first) % span) + span) % span;
  const at = first + offset;
  let low = 0;
  let high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= at) low = middle;
    else high = middle;
  }
  const [fromMs = 0, toMs = 0, from = 0, to = 0] = [times[low], times[high], values[low], values[high]];
  return from + ((to - from) * (at - fromMs)) / (toMs - fromMs);
}
