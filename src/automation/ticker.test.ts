import { expect, test } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { createTicker } from './ticker.ts';

const limits = { tick_interval_ms: 100, late_tick_ms: 25 };

/** Runs a ticker whose timers fire late by `delays`, in order; returns each tick's place on the grid and its delay. */
function run(delays: readonly number[], forMs: number) {
  const clock = simulatedClock();
  const startMs = clock.monotonicMs();
  const left = [...delays];
  const late = { ...clock, after: (ms: number, task: () => void) => clock.after(ms + (left.shift() ?? 0), task) };
  const ticks: [tickMs: number, latenessMs: number][] = [];
  const ticker = createTicker(late, limits, (tickMs, latenessMs) => {
    ticks.push([tickMs - startMs, latenessMs]);
    return false;
  });
  ticker.start();
  clock.advance(forMs);
  ticker.stop();
  return { ...ticker.counts(), ticks };
}

test('[rules §6.1] late_tick_ms, at its edge: a tick this late is on time, a later one counts as late', () => {
  const { ticks, late_ticks, overruns, max_lateness_ms } = run([25, 0, 26], 330);
  expect(ticks).toEqual([
    [100, 25],
    [200, 0],
    [300, 26],
  ]);
  expect({ late_ticks, overruns, max_lateness_ms }).toEqual({ late_ticks: 1, overruns: 0, max_lateness_ms: 26 });
});

test('[rules §6.1] ticks stay on their grid: a stall is one late tick; the ticks that it missed are counted, not caught up', () => {
  const { ticks, late_ticks, overruns, max_lateness_ms } = run([350], 650);
  expect(ticks).toEqual([
    [400, 350],
    [500, 0],
    [600, 0],
  ]);
  expect({ late_ticks, overruns, max_lateness_ms }).toEqual({ late_ticks: 1, overruns: 3, max_lateness_ms: 350 });
});
