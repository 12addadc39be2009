/** Silent units behind one connection [points §3.1]. */
import { describe, expect, test } from 'vitest';
import { createUnits } from './units.ts';

describe('[points §3.1] a silent unit', () => {
  test('is skipped for ten timeouts, then twice as long each time, up to unit_pause_max_ms', () => {
    const units = createUnits(100, 5000);
    let nowMs = 0;
    const pauses: number[] = [];
    for (let round = 0; round < 5; round++) {
      units.silent(3, nowMs);
      let pause = 0;
      while (!units.mayAsk(3, nowMs + pause)) pause += 100;
      pauses.push(pause);
      nowMs += pause;
    }
    expect(pauses).toEqual([1000, 2000, 4000, 5000, 5000]);
    units.answered(3, nowMs);
    units.silent(3, nowMs);
    expect([units.mayAsk(3, nowMs + 999), units.mayAsk(3, nowMs + 1000)]).toEqual([false, true]);
  });

  test('shows that the connection is of no use, unless another one answered in the last twenty timeouts', () => {
    const units = createUnits(100, 5000);
    expect(units.othersAnswer(3, 0)).toBe(false);
    units.answered(3, 0);
    expect(units.othersAnswer(3, 0)).toBe(false);
    units.answered(4, 0);
    expect([units.othersAnswer(3, 2000), units.othersAnswer(3, 2001)]).toEqual([true, false]);
  });
});
