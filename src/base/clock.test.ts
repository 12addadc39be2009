/** The system's clock and its sleep [platform §1.4]. */
import { getEventListeners } from 'node:events';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { longestDelayMs, sleep, systemClock, withTimeout } from './clock.ts';

const turn = (): Promise<void> => new Promise((resolve) => systemClock.soon(resolve));

describe('[platform §1.4] the system’s clock', () => {
  test('the wall clock is the time of day, the monotonic one never falls and is finer than a millisecond', () => {
    expect(Math.abs(systemClock.wallMs() - Date.now())).toBeLessThan(1000);
    const seen = Array.from({ length: 10_000 }, () => systemClock.monotonicMs());
    expect(seen.every((now, index) => index === 0 || now >= (seen[index - 1] ?? 0))).toBe(true);
    expect(seen.some((now) => !Number.isInteger(now))).toBe(true);
  });

  test('the monotonic clock is the same in every thread: a label of one is a moment of another', async () => {
    const before = systemClock.monotonicMs();
    const source = `import(${JSON.stringify(new URL('./clock.ts', import.meta.url).href)}).then(({ systemClock }) =>
      require('node:worker_threads').parentPort.postMessage(systemClock.monotonicMs()));`;
    const worker = new Worker(source, { eval: true });
    const there = await new Promise<number>((resolve) => void worker.once('message', resolve));
    expect(there).toBeGreaterThanOrEqual(before);
    expect(there).toBeLessThanOrEqual(systemClock.monotonicMs());
    await worker.terminate();
  });

  test('a timer runs once, in a later turn; a cancelled one never, and cancelling again is harmless', async () => {
    const ran: string[] = [];
    const cancelled = systemClock.after(0, () => ran.push('cancelled'));
    cancelled.cancel();
    cancelled.cancel();
    const done = new Promise<void>((resolve) => {
      const timer = systemClock.after(1, () => {
        ran.push('timer');
        // Too late, but harmless.
        timer.cancel();
        resolve();
      });
    });
    systemClock.soon(() => ran.push('soon'));
    expect(ran).toEqual([]);
    await done;
    await turn();
    expect(ran.toSorted()).toEqual(['soon', 'timer']);
  });

  test('a timer never fires early, for any fraction of a millisecond', async () => {
    const early: string[] = [];
    const fired = Array.from({ length: 200 }, (_, number) => {
      const delayMs = 0.1 + number * 0.137;
      const dueMs = systemClock.monotonicMs() + delayMs;
      return new Promise<void>((resolve) => {
        systemClock.after(delayMs, () => {
          if (systemClock.monotonicMs() < dueMs) early.push(`${delayMs} ms`);
          resolve();
        });
      });
    });
    await Promise.all(fired);
    expect(early).toEqual([]);
  });

  test('a timer that waits for the rest of its time is cancelled like any other', async () => {
    const { setTimeout: real } = globalThis;
    const pause = (ms: number) => new Promise((resolve) => real(resolve, ms));
    // Each timer fires at once, long before its time, so the sleep has to wait again and again.
    const waits = vi.spyOn(globalThis, 'setTimeout').mockImplementation((task) => real(task, 1));
    onTestFinished(() => waits.mockRestore());
    const timer = systemClock.after(60_000, () => expect.unreachable());
    await expect.poll(() => waits.mock.calls.length).toBeGreaterThan(2);
    timer.cancel();
    const before = waits.mock.calls.length;
    await pause(20);
    expect(waits.mock.calls.length).toBe(before);
  });

  test.each([
    ['the system’s', systemClock],
    ['the simulated', simulatedClock()],
  ])('%s clock refuses a delay that a timer cannot hold: it would fire at once', (_name, clock) => {
    for (const delayMs of [longestDelayMs + 1, Number.POSITIVE_INFINITY, Number.NaN])
      expect(() => clock.after(delayMs, () => undefined)).toThrow(RangeError);
    clock.after(longestDelayMs, () => expect.unreachable()).cancel();
  });
});

describe('sleep', () => {
  const watch = (work: Promise<void>) => {
    const state = { is: 'asleep', reason: undefined as unknown };
    work.then(
      () => (state.is = 'awake'),
      (reason: unknown) => Object.assign(state, { is: 'aborted', reason }),
    );
    return state;
  };

  test('lasts exactly as long as asked', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 100_000 }), async (ms) => {
        const clock = simulatedClock();
        const sleeper = watch(sleep(clock, ms));
        clock.advance(ms - 1);
        await turn();
        expect(sleeper.is).toBe('asleep');
        clock.advance(1);
        await turn();
        expect(sleeper.is).toBe('awake');
      }),
      { numRuns: 30 },
    );
  });

  test('ends at once with the signal’s reason, whether it came before or in between', async () => {
    const clock = simulatedClock();
    const reason = new Error('no longer needed');
    const before = watch(sleep(clock, 1000, AbortSignal.abort(reason)));
    const controller = new AbortController();
    const between = watch(sleep(clock, 1000, controller.signal));
    clock.advance(500);
    controller.abort(reason);
    await turn();
    expect([before, between]).toEqual([
      { is: 'aborted', reason },
      { is: 'aborted', reason },
    ]);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    expect(clock.pendingCount()).toBe(0);
  });

  test('a reason that is not an error becomes one', async () => {
    await expect(sleep(simulatedClock(), 1, AbortSignal.abort('a text'))).rejects.toThrow(new Error('aborted'));
  });

  test('leaves no listener behind: one signal serves many sleeps', async () => {
    const clock = simulatedClock();
    const { signal } = new AbortController();
    for (let count = 0; count < 20; count++) {
      const sleeper = sleep(clock, 10, signal);
      expect(getEventListeners(signal, 'abort')).toHaveLength(1);
      clock.advance(10);
      await sleeper;
    }
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a bounded wait', () => {
  test('ends with the work, and leaves no timer', async () => {
    const clock = simulatedClock();
    await withTimeout(clock, 1000, Promise.resolve());
    expect(clock.pendingCount()).toBe(0);
  });

  test('ends at the deadline, whatever the work does', async () => {
    const clock = simulatedClock();
    let over = false;
    const waiting = withTimeout(clock, 1000, new Promise(() => undefined)).then(() => {
      over = true;
    });
    clock.advance(999);
    await turn();
    expect(over).toBe(false);
    clock.advance(1);
    await waiting;
    expect(over).toBe(true);
  });
});
