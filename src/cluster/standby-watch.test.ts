/** When a site of several machines is down to one [alarms §2.2]; with real connections in the tests of the mailbox. */
import { expect, test } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { StandbyWatch } from './standby-watch.ts';

function bench() {
  const clock = simulatedClock();
  const state = { answer: [{ known: true }] as { known: boolean }[] | Error, asked: 0 };
  const watch = new StandbyWatch(clock, 'setpoint', { lookMs: 5000, unusedMs: 15_000 });
  const run = async () => {
    state.asked++;
    if (state.answer instanceof Error) throw state.answer;
    return state.answer;
  };
  const look = async (afterMs: number): Promise<boolean | null> => {
    clock.advance(afterMs);
    await watch.look({ run } as unknown as Parameters<typeof watch.look>[0]);
    return watch.isMissing();
  };
  return { state, watch, look };
}

test('asked every `lookMs`, at its edge, and at once after the connection was lost', async () => {
  const { state, watch, look } = bench();
  await look(0);
  await look(4999);
  expect(state.asked).toBe(1);
  await look(1);
  expect(state.asked).toBe(2);
  watch.lost();
  expect(watch.isMissing()).toBe(null);
  await look(0);
  expect(state.asked).toBe(3);
});

test('a standby is missing once one was seen and none is connected; after a refused query that is not known', async () => {
  const { state, look } = bench();
  state.answer = [{ known: false }];
  expect(await look(0)).toBe(false);
  state.answer = [{ known: true }];
  expect(await look(5000)).toBe(false);
  state.answer = [{ known: false }];
  expect(await look(5000)).toBe(true);
  state.answer = new Error('permission denied for view pg_stat_activity');
  expect(await look(5000)).toBe(null);
  state.answer = [{ known: false }];
  expect(await look(5000)).toBe(true);
});
