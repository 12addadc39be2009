import { expect, test } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { deadline, timeIsUp, untilAborted } from './deadline.ts';

const dayMs = 86_400_000;

test('a deadline aborts at its moment, with a TimeoutError', () => {
  const clock = simulatedClock();
  const { signal } = deadline(clock, 100);
  clock.advance(99);
  expect(signal.aborted).toBe(false);
  clock.advance(1);
  expect([signal.aborted, timeIsUp(signal)]).toEqual([true, true]);
});

test('one beyond the maximum of a timer also aborts at its time', () => {
  const clock = simulatedClock();
  const { signal } = deadline(clock, 400 * dayMs);
  clock.advance(400 * dayMs - 1);
  expect(signal.aborted).toBe(false);
  clock.advance(1);
  expect(timeIsUp(signal)).toBe(true);
});

test('one that has passed aborts in the next turn', () => {
  const clock = simulatedClock();
  const { signal } = deadline(clock, -81);
  clock.advance(0);
  expect(timeIsUp(signal)).toBe(true);
});

test('the outer signal ends it, with its own reason; cancelled, nothing does', () => {
  const clock = simulatedClock();
  const outer = new AbortController();
  const [inner, cancelled] = [deadline(clock, 100, outer.signal), deadline(clock, 100, outer.signal)];
  cancelled.cancel();
  outer.abort(new Error('gone'));
  clock.advance(100);
  expect([inner.signal.aborted, timeIsUp(inner.signal), cancelled.signal.aborted]).toEqual([true, false, false]);
  expect(deadline(clock, 100, outer.signal).signal.aborted).toBe(true);
});

test('work that continues is not awaited', async () => {
  const clock = simulatedClock();
  const { signal } = deadline(clock, 100);
  const waiting = untilAborted(new Promise(() => undefined), signal);
  clock.advance(100);
  await expect(waiting).rejects.toThrow('aborted');
  await expect(untilAborted(Promise.resolve(1), signal)).rejects.toThrow('aborted');
});
