/** A thousand seeded attacks and a thousand honest histories [audit §9.6]; the seeds of `npm test` are the first of them. */
import { expect, test } from 'vitest';
import { attackedTrail, honestTrail } from '../../src/testing/audit-attacks.ts';

const count = 1000;

test('[audit §9.6] 1,000 attacks are detected', { timeout: 1_800_000 }, async () => {
  const detected = new Map<string, number>();
  for (let seed = 0; seed < count; seed++) {
    const { attack, good, told } = await attackedTrail(seed);
    expect({ seed, attack, good, said: told !== '' }).toEqual({ seed, attack, good: false, said: true });
    detected.set(attack, (detected.get(attack) ?? 0) + 1);
  }
  for (const [attack, times] of detected) console.log(`${times} of ${times} detected: ${attack}`);
});

test('[audit §9.6] 1,000 honest histories are never accused', { timeout: 1_800_000 }, async () => {
  for (let seed = 0; seed < count; seed++) expect({ seed, told: await honestTrail(seed) }).toEqual({ seed, told: '' });
  console.log(`0 false alarms in ${count} honest histories`);
});
