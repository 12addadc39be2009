/** [data-processing §6.3]: which histories are accepted, at the edges of the limits. */
import { expect, test } from 'vitest';
import type { Sample } from '../sample.ts';
import { judgeHistory } from './judge-history.ts';

const nothing = Number.NaN;

function history(days: number, value: (cell: number) => number = (cell) => Math.sin(cell) + (cell % 5)): Sample {
  const count = days * 24;
  const target = Float64Array.from({ length: count }, (_, cell) => value(cell));
  return { startMs: 0, cadenceMs: 3_600_000, count, horizon: 24, target, covariates: [], timeZone: 'UTC' };
}

test('ten days are enough, an hour less is not; leading holes do not count', () => {
  expect(judgeHistory(history(10))).toEqual({ enough: true, warnings: ['HISTORY_SHORT'] });
  expect(judgeHistory(history(10, (cell) => (cell === 0 ? nothing : cell)))).toEqual({
    enough: false,
    why: 'HISTORY_TOO_SHORT',
  });
  expect(judgeHistory(history(28))).toEqual({ enough: true, warnings: [] });
  expect(judgeHistory(history(60, () => nothing))).toEqual({ enough: false, why: 'HISTORY_TOO_SHORT' });
});

test('half of the history may be missing, not more', () => {
  expect(judgeHistory(history(30, (cell) => (cell % 2 === 0 ? cell : nothing)))).toMatchObject({ enough: true });
  const broken = history(30, (cell) => (cell % 3 === 0 ? cell : nothing));
  expect(judgeHistory(broken)).toEqual({ enough: false, why: 'HISTORY_TOO_BROKEN' });
});

test('the newest week counts for itself, and so does a silent end', () => {
  const emptied = (from: number, to: number) =>
    judgeHistory(history(60, (cell) => (cell >= from && cell < to ? nothing : cell % 7)));
  const cells = 60 * 24;
  expect(emptied(cells - 85, cells - 1)).toMatchObject({ enough: true });
  expect(emptied(cells - 86, cells - 1)).toEqual({ enough: false, why: 'HISTORY_TOO_BROKEN' });
  expect(emptied(cells - 48, cells)).toMatchObject({ enough: true });
  expect(emptied(cells - 49, cells)).toEqual({ enough: false, why: 'HISTORY_TOO_BROKEN' });
});

test('one value throughout, and a value far out of line, are said', () => {
  expect(judgeHistory(history(30, () => 5))).toEqual({ enough: true, warnings: ['HISTORY_CONSTANT'] });
  expect(judgeHistory(history(30, (cell) => (cell === 300 ? 1e6 : cell % 10)))).toEqual({
    enough: true,
    warnings: ['HISTORY_OUTLIERS'],
  });
});
