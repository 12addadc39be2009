import { expect, test } from 'vitest';
import { simulatedClock } from './simulated-clock.ts';

test('timers run in order of their moment, each seeing its own time', () => {
  const clock = simulatedClock(10_000, 0);
  const seen: [string, number, number][] = [];
  clock.after(20, () => seen.push(['b', clock.monotonicMs(), clock.wallMs()]));
  clock.after(10, () => {
    seen.push(['a', clock.monotonicMs(), clock.wallMs()]);
    clock.after(5, () => seen.push(['a2', clock.monotonicMs(), clock.wallMs()]));
  });
  clock.after(5, () => seen.push(['never', 0, 0])).cancel();
  clock.advance(20);
  expect(seen).toEqual([
    ['a', 10, 10_010],
    ['a2', 15, 10_015],
    ['b', 20, 10_020],
  ]);
});

test('a wall jump moves labels, not durations [platform §1.4]', () => {
  const clock = simulatedClock(10_000, 0);
  let ran = false;
  clock.after(10, () => {
    ran = true;
  });
  clock.jumpWall(-5000);
  expect([clock.wallMs(), clock.monotonicMs(), ran]).toEqual([5000, 0, false]);
  clock.advance(9);
  expect(ran).toBe(false);
  clock.advance(1);
  expect(ran).toBe(true);
});
