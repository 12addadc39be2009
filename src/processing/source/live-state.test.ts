/** Read-only live state [data-processing §4.7]: usable finite values with the wall time of their observation, held for a label. */
import { expect, test } from 'vitest';
import { createLiveTableReader, createLiveTableWriter } from '../../points/live-table.ts';
import { createPointMemory } from '../../points/shared-memory.ts';
import { quality } from '../../site/quality.ts';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { processingLimits } from '../limits.ts';
import { LiveTails, type WatchedPoint } from './live-state.ts';

const startMs = 1_800_000_000_000;
const cadenceMs = 60_000;
const watched: readonly WatchedPoint[] = Array.from({ length: 6 }, (_, pointIndex) => ({ pointIndex, cadenceMs }));

function liveTails(of = watched) {
  const clock = simulatedClock(startMs + 1000);
  const points = Array.from({ length: 5 }, () => ({ channel: 0, writable: false }));
  const memory = createPointMemory(points, 1);
  const writer = createLiveTableWriter(memory, clock, []);
  const tails = new LiveTails(createLiveTableReader(memory), points.length, of, clock);
  const publish = (value: number): void => writer.publish([{ index: 0, value, quality: quality.good }]);
  const at = (labels: number): number | undefined =>
    tails.sample({ pointIndex: 0, cadenceMs }, startMs + labels * cadenceMs)?.value;
  return { clock, writer, tails, publish, at };
}

test('a sample has the age of its reading; unusable ones are ignored, and missing is never 0', () => {
  const { clock, writer, tails } = liveTails();
  writer.publish([
    { index: 0, value: 0, quality: quality.good },
    { index: 1, value: 7, quality: quality.uncertain },
    { index: 2, value: 7, quality: quality.bad },
    { index: 3, value: Number.NaN, quality: quality.good },
  ]);
  clock.advance(2500.5);
  const sample = (pointIndex: number) => tails.sample({ pointIndex, cadenceMs }, startMs + cadenceMs);
  const observedMs = startMs + 1000;
  expect(sample(0)).toEqual({ value: 0, observedMs, uncertain: false });
  expect(sample(1)).toEqual({ value: 7, observedMs, uncertain: true });
  expect([2, 3, 4, 5].map(sample)).toEqual([null, null, null, null]);
});

test('with looks each `live_tail_poll_ms`, the last sample before a label is held until two more intervals have ended', () => {
  const { clock, tails, publish, at } = liveTails();
  const timer = tails.watch(processingLimits.live_tail_poll_ms);
  for (let second = 0; second < 3 * 60; second++) {
    publish(second);
    clock.advance(1000);
  }
  // Published at 1 s, 2 s …: 59 came at the label itself.
  expect([at(1), at(2), at(3)]).toEqual([59, 119, 179]);
  expect(at(4)).toBeUndefined();
  publish(1000);
  clock.advance(1000);
  expect([at(1), at(2), at(3), at(4)]).toEqual([undefined, 119, 179, 1000]);
  timer.cancel();
});

test('an unchanged value belongs to the interval in which it was read', () => {
  const { clock, publish, at } = liveTails();
  publish(5);
  clock.advance(3 * cadenceMs);
  expect([at(1), at(2), at(3)]).toEqual([5, undefined, undefined]);
});

test('nothing is looked at where nothing is watched', () => {
  const { clock, tails, publish } = liveTails([]);
  publish(5);
  tails.watch(250);
  clock.advance(1000);
  expect(tails.sample({ pointIndex: 0, cadenceMs }, startMs + cadenceMs)).toBeNull();
});
