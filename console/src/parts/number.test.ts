/** Numbers as they are shown. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shownShare } from './number.ts';

test('a share is rounded down to two decimals, and is 100 % only where nothing is missing', () => {
  expect([0, 0.57, 0.29, 2 / 3, 1].map(shownShare)).toEqual(['0 %', '57 %', '29 %', '66.66 %', '100 %']);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5_000_000 }), (all) => {
      expect(shownShare((all - 1) / all)).not.toBe('100 %');
    }),
  );
});
