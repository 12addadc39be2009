/** Which covariates mark days off. */
import { expect, test } from 'vitest';
import { groundOf } from './ground.ts';

const hourMs = 3_600_000;
const days = 28;
/** A Monday. */
const startMs = Date.UTC(2026, 5, 1, 1);

/** The kinds of day of one month; the covariate is 1 in the cells that `flag` selects. The first cell ends at 01:00 of the first day. */
function kinds(flag: (cell: number) => boolean, hour = 12): number[] {
  const count = (days - 1) * 24;
  const values = Float64Array.from({ length: days * 24 }, (_, cell) => (flag(cell) ? 1 : 0));
  const target = new Float64Array(count).fill(1);
  const covariates = [{ name: 'flag', values }];
  const { dayClass } = groundOf({
    startMs,
    cadenceMs: hourMs,
    count,
    horizon: 24,
    target,
    covariates,
    timeZone: 'UTC',
  });
  return Array.from({ length: days }, (_, day) => dayClass[day * 24 + hour] ?? -1);
}

const ordinary = Array.from({ length: days }, (_, day) => (day % 7 === 6 ? 2 : day % 7 === 5 ? 1 : 0));

test('a flag of whole days marks days off, whichever day the cell that ends at midnight is said to belong to', () => {
  const holiday = ordinary.with(9, 2);
  expect(kinds((cell) => Math.floor(cell / 24) === 9)).toEqual(holiday);
  expect(kinds((cell) => Math.floor((cell + 1) / 24) === 9)).toEqual(holiday);
});

test('a rare flag of hours marks no days: its cells stay working days', () => {
  expect(kinds((cell) => cell % 24 === 8 && Math.floor(cell / 24) % 3 === 0, 8)).toEqual(ordinary);
  expect(kinds((cell) => Math.floor(cell / 24) === 9 && cell % 24 < 12, 8)).toEqual(ordinary);
});
