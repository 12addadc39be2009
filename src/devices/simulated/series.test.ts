/** Replayed series: strict reading, and the right hour and weekday at any moment [points §3.3]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { localMs } from '../../site/local-time.ts';
import { readSeries, seriesValueAt } from './series.ts';

const hourMs = 3_600_000;
const weekMs = 168 * hourMs;
const zone = 'Europe/Amsterdam';
/** Hourly samples starting at `from`, each with its number as its value. */
function hourly(from: string, count: number, value: (index: number) => number = (index) => index): string {
  const startMs = Date.parse(from);
  const lines = Array.from(
    { length: count },
    (_, index) => `${new Date(startMs + index * hourMs).toISOString()},${value(index)}`,
  );
  return `time,value\n${lines.join('\n')}\n`;
}

describe('[points §3.3] series of the simulated driver', () => {
  test.each([
    ['another header', 'when,value\n', 'load.csv:1: the header must be time,value'],
    ['a local time', 'time,value\n2026-01-01T00:00:00,1\n', 'load.csv:2: not a UTC time and a number'],
    ['a missing value', 'time,value\n2026-01-01T00:00:00Z,\n', 'load.csv:2: not a UTC time and a number'],
    ['a word', 'time,value\n2026-01-01T00:00:00Z,high\n', 'load.csv:2: not a UTC time and a number'],
    ['an infinity', 'time,value\n2026-01-01T00:00:00Z,Infinity\n', 'load.csv:2: not a UTC time and a number'],
    ['a third column', 'time,value\n2026-01-01T00:00:00Z,1,2\n', 'load.csv:2: not a UTC time and a number'],
    ['a time twice', 'time,value\n2026-01-01T00:00:00Z,1\n2026-01-01T00:00:00Z,1\n', 'load.csv:3: times must increase'],
    ['six days', hourly('2026-01-01T00:00:00Z', 144), 'load.csv: at least one week is needed'],
  ])('%s is refused with file and line', (_, text, message) => {
    expect(() => readSeries(text, 'load.csv', zone)).toThrow(message);
  });

  test('between samples the value is interpolated', () => {
    const series = readSeries(hourly('2026-01-05T00:00:00Z', 200), 'load.csv', 'UTC');
    expect(seriesValueAt(series, Date.parse('2026-01-05T10:30:00Z'), 'UTC')).toBe(10.5);
  });

  test('weekday and hour of day are right in any year, in local time on both sides of a clock change', () => {
    // The value is the local hour of the week at its time.
    const startMs = Date.parse('2018-01-07T23:00:00Z');
    const ofWeek = (wallMs: number) => {
      const local = localMs(wallMs, zone);
      return (((local / hourMs) % 168) + 168) % 168;
    };
    const text = hourly('2018-01-07T23:00:00Z', 169 * 2, (index) => ofWeek(startMs + index * hourMs));
    const series = readSeries(text, 'load.csv', zone);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 400_000 }), (hours) => {
        const wallMs = Date.parse('2020-01-01T00:00:00Z') + hours * hourMs;
        // A local hour that the clocks skip or repeat has no sample of its own; its neighbours replace it.
        const value = seriesValueAt(series, wallMs, zone);
        expect(Math.abs(value - ofWeek(wallMs))).toBeLessThan(1e-6);
      }),
    );
  });

  test('the replay repeats after whole weeks', () => {
    const series = readSeries(hourly('2026-01-05T00:00:00Z', 200), 'load.csv', 'UTC');
    const at = Date.parse('2026-03-03T03:00:00Z');
    expect(seriesValueAt(series, at + weekMs, 'UTC')).toBe(seriesValueAt(series, at, 'UTC'));
  });
});
