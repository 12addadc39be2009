/**
 * Attacks by somebody who has the database and every key [audit §9]: each change behind a head that a witness saw is detected, and the
 * message names what and where. An honest history, with crashes and retention, is never accused. The same seeds attack a thousand
 * times in `npm run test:soak` (`tests/soak/audit-attacks.test.ts`).
 */
import { describe, expect, test } from 'vitest';
import { attackedTrail, honestTrail } from '../testing/audit-attacks.ts';

const seeds = Array.from({ length: 24 }, (_, seed) => seed);

describe('the audit trail under attack', () => {
  test('[audit §9.6] each attack behind a witnessed head is detected', { timeout: 60_000 }, async () => {
    for (const seed of seeds) {
      const { attack, isWhole, good, told, toldAlone } = await attackedTrail(seed);
      expect({ seed, attack, good }).toEqual({ seed, attack, good: false });
      // Only the witness can tell: nothing at the site is out of place.
      if (isWhole) expect({ seed, attack, toldAlone }).toEqual({ seed, attack, toldAlone: '' });
      expect(told, `${attack} of seed ${seed}`).toMatch(/sequence \d+|index audit_event_\w+|tenant-1\/project-1/);
    }
  });

  test('[audit §9.6] no honest history is accused', { timeout: 60_000 }, async () => {
    for (const seed of seeds) expect({ seed, told: await honestTrail(seed) }).toEqual({ seed, told: '' });
  });
});
