import { describe, expect, test } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { Fault } from './fault.ts';
import { type Log, silentLog } from './log.ts';
import { repeatedly } from './repeatedly.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function setup(refusal?: string) {
  const clock = simulatedClock();
  const told: unknown[] = [];
  const log: Log = {
    ...silentLog,
    warn: (message, fields) => void told.push([message, fields?.['error']]),
    error: (_message, fields) => void told.push(fields?.['error']),
  };
  const state: { error: Error | undefined; runs: number } = { error: undefined, runs: 0 };
  const task = (): Promise<void> => {
    state.runs++;
    return state.error === undefined ? Promise.resolve() : Promise.reject(state.error);
  };
  const timer = repeatedly(clock, 100, log, task, refusal);
  const round = async (error?: Error): Promise<void> => {
    state.error = error;
    clock.advance(100);
    await settle();
  };
  return { clock, timer, told, state, round };
}

describe('a task that is done again and again', () => {
  test('continues after failures until it is cancelled', async () => {
    const { clock, timer, state, round } = setup();
    await round(new Error('broken'));
    await round();
    expect(state.runs).toBe(2);
    timer.cancel();
    await round();
    expect(state.runs).toBe(2);
    expect(clock.pendingCount()).toBe(0);
  });

  test('runs at once on request, and once more if it is running; the next time counts from then', async () => {
    const { clock, timer, state } = setup();
    clock.advance(60);
    timer.now();
    expect(state.runs).toBe(1);
    timer.now();
    timer.now();
    await settle();
    expect(state.runs).toBe(2);
    clock.advance(99);
    expect(state.runs).toBe(2);
    clock.advance(1);
    expect(state.runs).toBe(3);
    await settle();
    timer.cancel();
    timer.now();
    expect([state.runs, clock.pendingCount()]).toEqual([3, 0]);
  });

  test('an error is logged once, and again when it returns after a success', async () => {
    const { told, round } = setup();
    for (const message of ['broken', 'broken', 'other', 'other']) await round(new Error(message));
    expect(told).toEqual(['Error: broken', 'Error: other']);
    await round();
    await round(new Error('other'));
    expect(told).toHaveLength(3);
  });

  test('an expected refusal, such as that of unavailable storage, is not logged as an error', async () => {
    const { told, round } = setup();
    await round(new Fault('storage-unavailable', 'away'));
    expect(told).toEqual([]);
  });

  test('if data must not wait for long, it is logged once with its cause, and again after a success', async () => {
    const { told, round } = setup('it waits');
    const away = new Fault('storage-unavailable', 'away', { cause: new Error('no such host') });
    for (const error of [away, away, undefined, away]) await round(error);
    expect(told).toEqual([
      ['it waits', 'no such host'],
      ['it waits', 'no such host'],
    ]);
    await round();
    await round(new Fault('storage-unavailable', 'away'));
    expect(told.slice(2)).toEqual([['it waits', 'away']]);
  });
});
