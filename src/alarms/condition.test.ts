import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { beyond, seenNow } from './condition.ts';

describe('[alarms §2.1] thresholds and delays', () => {
  test('at the edge, and at the end of the deadband', () => {
    const above = { kind: 'above', value: 10, deadband: 2 } as const;
    expect([beyond(above, 10, false), beyond(above, 10.1, false)]).toEqual([false, true]);
    expect([beyond(above, 8.1, true), beyond(above, 8, true)]).toEqual([true, false]);
    const below = { kind: 'below', value: 10, deadband: 2 } as const;
    expect([beyond(below, 10, false), beyond(below, 9.9, false)]).toEqual([false, true]);
    expect([beyond(below, 11.9, true), beyond(below, 12, true)]).toEqual([true, false]);
    const equals = { kind: 'equals', value: 1, deadband: 0.5 } as const;
    expect([beyond(equals, 1, false), beyond(equals, 1.1, false)]).toEqual([true, false]);
    expect([beyond(equals, 1.5, true), beyond(equals, 1.6, true)]).toEqual([true, false]);
  });

  test('within the deadband nothing changes', () => {
    const value = fc.double({ min: -100, max: 100, noNaN: true });
    const kind = fc.constantFrom('above' as const, 'below' as const);
    fc.assert(
      fc.property(kind, value, fc.double({ min: 0.1, max: 50, noNaN: true }), fc.boolean(), (side, edge, band, was) => {
        const inside = side === 'above' ? edge - band / 2 : edge + band / 2;
        expect(beyond({ kind: side, value: edge, deadband: band }, inside, was)).toBe(was);
      }),
    );
  });

  test('a condition holds after its delay, to the millisecond, and an interruption begins it again', () => {
    const start = { raw: false, sinceMs: 0, holds: false };
    const seen = seenNow(start, true, 100, 50);
    expect(seen.holds).toBe(false);
    expect(seenNow(seen, true, 100, 149).holds).toBe(false);
    expect(seenNow(seen, true, 100, 150).holds).toBe(true);
    const interrupted = seenNow(seenNow(seen, false, 100, 140), true, 100, 145);
    expect(seenNow(interrupted, true, 100, 244).holds).toBe(false);
    expect(seenNow(interrupted, true, 100, 245).holds).toBe(true);
    expect(seenNow({ raw: true, sinceMs: 0, holds: true }, false, 100, 1).holds).toBe(false);
  });

  test('an unusable value changes nothing', () => {
    const held = { raw: true, sinceMs: 7, holds: true };
    expect(seenNow(held, null, 100, 1000)).toBe(held);
  });
});
