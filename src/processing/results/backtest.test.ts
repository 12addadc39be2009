/** [data-processing §8.5] which cutoffs a backtest has. */
import { describe, expect, test } from 'vitest';
import { loadRoute } from '../../testing/load-site.ts';
import { cutoffsOf } from './backtest.ts';

const route = loadRoute();
const everyMs = 900_000;
const fromMs = Date.UTC(2026, 0, 1);
const cutoffs = (toMs: number, more: { fromMs?: number; everyMs?: number } = {}): readonly number[] =>
  cutoffsOf(route, { fromMs, toMs, everyMs, ...more });

describe('the cutoffs of a backtest', () => {
  test('begin with the first and end before the last', () => {
    expect(cutoffs(fromMs + 2 * everyMs)).toEqual([fromMs, fromMs + everyMs]);
    expect(cutoffs(fromMs + 2 * everyMs + 1)).toHaveLength(3);
    expect(cutoffs(fromMs + 1)).toEqual([fromMs]);
  });

  test('lie on the grid of the task', () => {
    for (const more of [{ fromMs: fromMs + 1 }, { everyMs: everyMs + 1000 }, { everyMs: 0 }])
      expect(() => cutoffs(fromMs + 10 * everyMs, more)).toThrow('multiples of 900 seconds');
    expect(() => cutoffs(fromMs)).toThrow('later than the first cutoff');
  });

  test('are 40000 at most', () => {
    expect(cutoffs(fromMs + 40_000 * everyMs)).toHaveLength(40_000);
    expect(() => cutoffs(fromMs + 40_000 * everyMs + 1)).toThrow('this would be 40001 calls; at most 40000');
  });
});
