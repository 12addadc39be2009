import { expect, test } from 'vitest';
import { EngineWatch } from './engine-watch.ts';

const windowMs = 60_000;
const counts = (overruns: number, dropped = 0) => ({
  tick_interval_ms: 100,
  overruns,
  records_dropped: dropped,
});

test('the share of missed ticks is that of the last window', () => {
  const watch = new EngineWatch(windowMs);
  expect(watch.missedShare()).toBeNull();
  for (let second = 0; second < 60; second++) watch.look(second * 1000, counts(second));
  expect(watch.missedShare()).toBeNull();
  // 60 of the 600 ticks of a minute.
  watch.look(60_000, counts(60));
  expect(watch.missedShare()).toBeCloseTo(0.1);
  for (let second = 61; second <= 90; second++) watch.look(second * 1000, counts(60));
  expect(watch.missedShare()).toBeCloseTo(0.05);
  for (let second = 91; second <= 120; second++) watch.look(second * 1000, counts(60));
  expect(watch.missedShare()).toBe(0);
});

test('looks that are missing, or far apart, leave the window as long', () => {
  const watch = new EngineWatch(windowMs);
  watch.look(0, counts(0));
  watch.look(30_000, null);
  watch.look(100_000, counts(100));
  expect(watch.missedShare()).toBeCloseTo(0.1);
});

test('another engine, which counts from 0, is seen for a whole window first', () => {
  const watch = new EngineWatch(windowMs);
  watch.look(0, counts(0));
  watch.look(60_000, counts(300));
  expect(watch.missedShare()).toBeCloseTo(0.5);
  watch.look(61_000, counts(5));
  expect(watch.missedShare()).toBeNull();
  watch.look(121_000, counts(5));
  expect(watch.missedShare()).toBe(0);
});

test('records that were lost, also by another engine', () => {
  const watch = new EngineWatch(windowMs);
  watch.look(0, counts(0));
  expect(watch.recordsLostMs()).toBeNull();
  watch.look(1000, counts(0, 7));
  watch.look(2000, counts(0, 7));
  expect(watch.recordsLostMs()).toBe(1000);
  watch.look(3000, counts(0, 0));
  expect(watch.recordsLostMs()).toBe(1000);
  watch.look(4000, counts(0, 3));
  expect(watch.recordsLostMs()).toBe(4000);
});
