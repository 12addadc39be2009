import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aheadAfter } from './clock.ts';

test('a clock that is right stays as it is, whatever answers arrive', () => {
  const answer = fc.record({
    sentMs: fc.nat(10_000),
    waitedMs: fc.nat(5000),
    writtenAfter: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(answer), (answers) => {
      let ahead = 0;
      for (const { sentMs, waitedMs, writtenAfter } of answers) {
        const writtenMs = sentMs + Math.floor(waitedMs * writtenAfter);
        ahead = aheadAfter(ahead, { seenMs: writtenMs - (writtenMs % 1000), sentMs, receivedMs: sentMs + waitedMs });
      }
      expect(ahead).toBe(0);
    }),
  );
});

test('after any answer the time is that of the service, to a second and the time that the answer took', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1e9, max: 1e9 }),
      fc.integer({ min: -1e9, max: 1e9 }),
      fc.integer({ min: 1e12, max: 2e12 }),
      fc.nat(5000),
      fc.nat(5000),
      (aheadMs, knownMs, writtenMs, thereMs, backMs) => {
        const sentMs = writtenMs - aheadMs - thereMs;
        const found = aheadAfter(knownMs, {
          seenMs: writtenMs - (writtenMs % 1000),
          sentMs,
          receivedMs: sentMs + thereMs + backMs,
        });
        expect(Math.abs(found - aheadMs)).toBeLessThanOrEqual(1000 + thereMs + backMs);
      },
    ),
  );
});
