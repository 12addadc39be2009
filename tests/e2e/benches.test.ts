/** That each measurement still runs to its end, at small sizes; what it prints then says nothing about speed. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { compared, figuresOf, isSlower } from '../../bench/fixture/figures.ts';
import { compiledOnce } from './running-service.ts';

const folder = join(import.meta.dirname, '..', '..', 'bench');
const benches = readdirSync(folder).filter((file) => file.endsWith('.ts') && file !== 'run.ts');

describe('each bench runs to its end at small sizes', () => {
  test.concurrent.for(benches)('%s', { timeout: 300_000 }, async (file) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', join(folder, file), '--smoke'], {
      env: { ...process.env, ...compiledOnce },
    });
    expect(stdout).toMatch(/\d/);
  });

  test('a size that it does not have is refused', async () => {
    const run = promisify(execFile)(process.execPath, [join(folder, 'scheduler.ts'), '--smoke', 'rule=3']);
    await expect(run).rejects.toThrow('there is no size "rule"; there are rules, ticks');
  });
});

describe('two commits are compared', () => {
  test('by the figures whose unit says which way is better; limits and counts are none', () => {
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
