import { expect, test } from 'vitest';
import { axisTimes, timeText } from './chart-times.ts';

/** In the time zone of the machine, as a browser has one. */
const at = (...parts: [number, number, number, number?, number?, number?]): number =>
  new Date(parts[0], parts[1] - 1, ...parts.slice(2)).getTime() / 1000;

test('hourly ticks have the date at the first tick and at midnight', () => {
  const ticks = [at(2026, 11, 25, 22), at(2026, 11, 26, 0), at(2026, 11, 26, 2)];
  expect(axisTimes(null, ticks)).toEqual(['22:00\nNov 25', '00:00\nNov 26', '02:00']);
});

test('ticks within a minute have seconds', () => {
  const ticks = [at(2026, 11, 25, 22, 0, 0), at(2026, 11, 25, 22, 0, 30)];
  expect(axisTimes(null, ticks)).toEqual(['22:00:00\nNov 25', '22:00:30']);
});

test('daily ticks have the year at the first tick and at its start, also over a clock change', () => {
  expect(axisTimes(null, [at(2026, 12, 31), at(2027, 1, 1), at(2027, 1, 2)])).toEqual([
    'Dec 31\n2026',
    'Jan 1\n2027',
    'Jan 2',
  ]);
  const short = [at(2026, 3, 29), at(2026, 3, 29) + 23 * 3600];
  expect(axisTimes(null, short)[0]).toBe('Mar 29\n2026');
});

test('monthly ticks have the month', () => {
  expect(axisTimes(null, [at(2026, 2, 1), at(2026, 3, 1)])).toEqual(['Feb\n2026', 'Mar']);
  expect(axisTimes(null, [at(2026, 12, 1), at(2027, 1, 1)])).toEqual(['Dec\n2026', 'Jan\n2027']);
});

test('a single tick has time and date; no ticks have no labels', () => {
  expect(axisTimes(null, [at(2026, 11, 25, 0)])).toEqual(['00:00\nNov 25']);
  expect(axisTimes(null, [])).toEqual([]);
});

test('a time has its full date', () => {
  expect(timeText(at(2025, 11, 5, 0, 7))).toBe('Wed, Nov 5, 2025, 00:07');
});
