/** Waits between connections. */
import { expect, test } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { BackOff } from './back-off.ts';

test('`shortMs`: how long a connection must have lasted, at its edge', () => {
  const clock = simulatedClock();
  const backOff = new BackOff({ reconnect_min_ms: 200, reconnect_max_ms: 1000 }, clock, 50);
  const waits = [50, 51, 50].map((lastedMs) => {
    backOff.began();
    clock.advance(lastedMs);
    return backOff.ended();
  });
  expect(waits).toEqual([200, 200, 400]);
});

test('[points §3.2] waits double up to reconnect_max_ms, also between connections that end at once', () => {
  const clock = simulatedClock();
  const backOff = new BackOff({ reconnect_min_ms: 200, reconnect_max_ms: 1000 }, clock);
  const waits = Array.from({ length: 5 }, (_, round) => {
    if (round % 2 === 0) backOff.began();
    clock.advance(1000);
    return backOff.ended();
  });
  expect(waits).toEqual([200, 400, 800, 1000, 1000]);
  backOff.began();
  clock.advance(1000);
  expect(backOff.isShort).toBe(true);
  clock.advance(1);
  expect([backOff.isShort, backOff.ended(), backOff.isShort, backOff.ended()]).toEqual([false, 200, false, 400]);
});
