/** A channel whose driver fails is started again and leaves the others alone [points §3]. */
import { expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import type { Driver } from './driver.ts';
import { runChannel, type Seat } from './run-channel.ts';

function channel(faults: { start?: boolean; wake?: boolean; stop?: boolean } = {}) {
  const clock = simulatedClock();
  const events: string[] = [];
  const seats: Seat[] = [];
  const running = runChannel({
    clock,
    log: silentLog,
    limits: { reconnect_min_ms: 100, reconnect_max_ms: 1000 },
    isolated: (work) => work(),
    lost: () => void events.push('lost'),
    start(seat): Driver {
      seats.push(seat);
      const fails = (when: boolean | undefined, what: string): void => {
        events.push(what);
        if (when === true) throw new Error(`no ${what}`);
      };
      return {
        start: () => fails(faults.start, 'start'),
        wake: () => fails(faults.wake, 'wake'),
        stop: async () => fails(faults.stop, 'stop'),
      };
    },
  });
  return { clock, events, seats, running, faults };
}

test('[points §3] a driver that throws is left behind; another one starts after a pause that grows to reconnect_max_ms', () => {
  const { clock, events, seats, running } = channel({ start: true });
  running.start();
  expect(events).toEqual(['start', 'stop', 'lost']);
  const startsAfter = (ms: number): number => {
    clock.advance(ms);
    return seats.length;
  };
  expect([startsAfter(99), startsAfter(1), startsAfter(199), startsAfter(1)]).toEqual([1, 2, 2, 3]);
  clock.advance(60_000);
  const before = seats.length;
  clock.advance(10_000);
  expect(seats.length - before).toBe(10);
  expect(seats.slice(0, -1).every(({ left }) => left)).toBe(true);
});

test('[points §3] a failure in a callback, told from outside, does the same; a long uptime resets the pause', () => {
  const { clock, events, seats, running, faults } = channel({ start: true });
  running.start();
  clock.advance(5000);
  faults.start = false;
  clock.advance(1000);
  events.length = 0;
  clock.advance(2000);
  const before = seats.length;
  running.failed(new Error('in a callback'));
  expect([events, seats.at(-1)?.left]).toEqual([['stop', 'lost'], true]);
  clock.advance(100);
  expect(seats.length).toBe(before + 1);
  expect(seats.at(-1)?.left).toBe(false);
});

test('a driver that fails to stop is abandoned all the same, and a stopped channel starts none', async () => {
  const { clock, events, seats, running } = channel({ wake: true, stop: true });
  running.start();
  running.wake();
  expect(events).toEqual(['start', 'wake', 'stop', 'lost']);
  await running.stop();
  clock.advance(10_000);
  expect(seats).toHaveLength(1);
});
