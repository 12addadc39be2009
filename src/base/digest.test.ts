import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sha256Hex, sha256Steps } from './digest.ts';
import { atOnce } from './turns.ts';

test('a text hashed in steps has the digest of the whole, wherever its characters lie', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 140_000 }), (text, length) => {
      const long = `${'ab'.repeat(length)}${text}\u{1f600}${text}`;
      expect(atOnce(sha256Steps(long))).toBe(sha256Hex(long));
    }),
    { numRuns: 30 },
  );
  expect(atOnce(sha256Steps(''))).toBe(sha256Hex(''));
});
