/**
 * Whoever holds the database and every key rewrites it [audit §9]: what lies behind a head that a witness saw is told, with what and
 * where; and an honest history, with crashes, retention and acknowledged breaks, is never accused. The same seeds attack a thousand
 * times in `npm run test:soak` (`tests/soak/audit-attacks.test.ts`).
 */
import { describe, expect, test } from 'vitest';
import { attackedTrail, honestTrail } from '../testing/audit-attacks.ts';

const seeds = Array.from({ length: 24 }, (_, seed) => seed);

describe('the audit trail under attack', () => {
  test('[audit §9.6] each attack behind a witnessed head is detected', async () => {
    for (const seed of seeds) {
      const { attack, isWhole, good, told, toldAlone } = await attackedTrail(seed);
      expect({ seed, attack, good }).toEqual({ seed, attack, good: false });
      // Only the witness can tell: nothing at the site is out of place.
      if (isWhole) expect({ seed, attack, toldAlone }).toEqual({ seed, attack, toldAlone: '' });
      expect(told, `${attack} of seed ${seed}`).toMatch(/sequence \d+|event|mark|anchor|damaged|head|rule/);
    }
  });

  test('[audit §9.6] no honest history is accused', async () => {
    for (const seed of seeds) expect({ seed, told: await honestTrail(seed) }).toEqual({ seed, told: '' });
  });
});
