/** Read-only live state [data-processing §4.7]: usable finite values with the wall time of their observation. */
import { expect, test } from 'vitest';
import { createLiveTableReader, createLiveTableWriter } from '../../points/live-table.ts';
import { createPointMemory } from '../../points/shared-memory.ts';
import { quality } from '../../site/quality.ts';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { liveStateOf } from './live-state.ts';

test('a sample is as old as its reading; unusable ones are none, and missing is never 0', () => {
  const clock = simulatedClock(1_800_000_000_000);
  const points = Array.from({ length: 5 }, () => ({ channel: 0, writable: false }));
  const memory = createPointMemory(points, 1);
  const writer = createLiveTableWriter(memory, clock, []);
  writer.publish([
    { index: 0, value: 0, quality: quality.good },
    { index: 1, value: 7, quality: quality.uncertain },
    { index: 2, value: 7, quality: quality.bad },
    { index: 3, value: Number.NaN, quality: quality.good },
  ]);
  clock.advance(2500.5);
  const state = liveStateOf(createLiveTableReader(memory), points.length, clock);
  const observedMs = 1_800_000_000_000;
  expect(state.sample(0)).toEqual({ value: 0, observedMs, uncertain: false });
  expect(state.sample(1)).toEqual({ value: 7, observedMs, uncertain: true });
  expect([2, 3, 4, 5].map((index) => state.sample(index))).toEqual([null, null, null, null]);
});
