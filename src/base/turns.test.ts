/** Long work in short turns. */
import { expect, test } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { atOnce, inTurns, type Steps, turnMs } from './turns.ts';

function* counting(to: number, step: (at: number) => void): Steps<number> {
  for (let at = 1; at <= to; at++) {
    step(at);
    yield;
  }
  return to;
}

test('at once all steps are done in one turn', () => {
  const seen: number[] = [];
  expect(atOnce(counting(3, (at) => void seen.push(at)))).toBe(3);
  expect(seen).toEqual([1, 2, 3]);
});

test('in turns the event loop turns when a turn has lasted its time, and not before', async () => {
  const clock = simulatedClock();
  let soons = 0;
  let nowMs = 0;
  const slow = {
    ...clock,
    monotonicMs: () => nowMs,
    soon: (task: () => void) => {
      soons++;
      setImmediate(task);
    },
  };
  // Every step takes a fifth of a turn.
  expect(
    await inTurns(
      slow,
      counting(20, () => (nowMs += turnMs / 5)),
    ),
  ).toBe(20);
  expect(soons).toBe(4);
});

test('an error in a step is the error of the whole', async () => {
  const failing = (): Steps<number> =>
    counting(3, (at) => {
      if (at === 2) throw new Error('step 2');
    });
  expect(() => atOnce(failing())).toThrow('step 2');
  await expect(inTurns(simulatedClock(), failing())).rejects.toThrow('step 2');
});
