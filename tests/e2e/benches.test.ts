/** How measurements run and are compared; `tests/soak/benches.test.ts` runs all of them to their end. */
import { describe, expect, test } from 'vitest';
import { compared, figuresOf, isSlower } from '../../bench/fixture/figures.ts';
import { benches, smoke } from './bench-smoke.ts';

/** They start services, servers or threads: only the soak runs them. */
const slow = /^(alarms|audit|devices|historian|http|postgres|postgres-history|recording|spool|start|turns|writes)\.ts$/;
const quick = benches.filter((file) => !slow.test(file));

describe('a bench', () => {
  test.concurrent.for(quick)('%s runs to its end at small sizes', async (file) => {
    expect(await smoke(file)).toMatch(/\d/);
  });

  test('a size that it does not have is refused', async () => {
    await expect(smoke('scheduler.ts', 'rule=3')).rejects.toThrow('unknown size "rule"; there are rules, ticks');
  });
});

describe('two commits are compared', () => {
  test('by the figures whose unit has a better direction; limits and counts are not compared', () => {
    const text =
      '4 rules of 100 ms:\n  executed 10,250/s, 97% of what is due (limit 20,000/s)\n  p99 2.5 ms, 1.2 times';
    expect(figuresOf(text).map(({ value, unit, better }) => [value, unit, better])).toEqual([
      [100, 'ms', 'lower'],
      [10_250, '/s', 'higher'],
      [2.5, 'ms', 'lower'],
    ]);
  });

  test('slower is more than 5 %, and more than runs of one commit differ', () => {
    const runs = (...rates: number[]) => rates.map((rate) => `executed ${rate}/s, p99 ${1000 / rate} ms`);
    const slower = (before: string[], after: string[]) => compared(before, after).map((each) => isSlower(each));
    expect(slower(runs(100, 101, 99), runs(80, 81, 79))).toEqual([true, true]);
    expect(slower(runs(100, 130, 70), runs(80, 81, 79))).toEqual([false, false]);
    expect(slower(runs(100, 100, 100), runs(96, 96, 96))).toEqual([false, false]);
    expect(slower(runs(80, 81, 79), runs(100, 101, 99))).toEqual([false, false]);
    expect(compared(['a 1 ms'], ['b 1 ms'])).toEqual([]);
  });
});
