/**
 * Attacks by somebody with the database and every key [audit §9]: each change behind a witnessed head is detected, and the
 * message names what changed and where. An honest history, with crashes and retention, is never accused. Hundreds of further
 * seeds run in `npm run test:soak` (`tests/soak/audit-attacks.test.ts`).
 */
import { describe, expect, test } from 'vitest';
import { attackedTrail, honestTrail } from '../testing/audit-attacks.ts';

const runs = [
  // Each attack, once.
  { engine: 'sqlite', seeds: Array.from({ length: 18 }, (_, seed) => seed) },
  // A row, an index and a whole forgery: all others share the same code, and each seed makes a schema of its own.
  { engine: 'postgres', seeds: [6, 14, 11] },
] as const;

describe('the audit trail under attack', () => {
  test.each(runs)(
    '[audit §9.6] on $engine each attack behind a witnessed head is detected',
    { timeout: 60_000 },
    async ({ engine, seeds }) => {
      for (const seed of seeds) {
        const { attack, isWhole, good, told, toldAlone } = await attackedTrail(seed, engine);
        expect({ seed, attack, good }).toEqual({ seed, attack, good: false });
        // Only the witness can tell: nothing at the site looks wrong.
        if (isWhole) expect({ seed, attack, toldAlone }).toEqual({ seed, attack, toldAlone: '' });
        expect(told, `${attack} of seed ${seed}`).toMatch(/sequence \d+|index audit_event_\w+|tenant-1\/project-1/);
      }
    },
  );

  test.each(runs)(
    '[audit §9.6] on $engine no honest history is accused',
    { timeout: 60_000 },
    async ({ engine, seeds }) => {
      for (const seed of seeds.slice(0, 5))
        expect({ seed, told: await honestTrail(seed, engine) }).toEqual({ seed, told: '' });
    },
  );
});
