/** Times of a date and time field. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { localTimeOf, msOfLocal, utcOf } from './local-time.ts';

test('the text of the field is read back as the same second, in any time zone', () => {
  const second = fc.date({ min: new Date('1970-01-02'), max: new Date('2099-12-30'), noInvalidDate: true });
  fc.assert(
    fc.property(second, (at) => {
      const shown = localTimeOf(at.toISOString());
      const ms = Math.floor(at.getTime() / 1000) * 1000;
      // In the hour that an autumn night has twice, the field cannot distinguish the two.
      expect([0, 3_600_000]).toContain(Math.abs((msOfLocal(shown) ?? Number.NaN) - ms));
      expect(localTimeOf(utcOf(shown) ?? '')).toBe(shown);
    }),
  );
});

test('an invalid date and time is neither shown nor read', () => {
  expect([localTimeOf(''), localTimeOf('soon'), msOfLocal(''), utcOf('2026-13-01T00:00:00')]).toEqual([
    '',
    '',
    null,
    null,
  ]);
});
