/** Hundreds of seeded attacks and honest histories [audit §9.6]; the seeds of `npm test` are the first of them. */
import { expect, test } from 'vitest';
import { attackedTrail, honestTrail } from '../../src/testing/audit-attacks.ts';

const runs = [
  { engine: 'sqlite', count: 1000 },
  { engine: 'postgres', count: 200 },
] as const;

test.each(runs)(
  '[audit §9.6] on $engine $count attacks are detected',
  { timeout: 1_800_000 },
  async ({ engine, count }) => {
    const detected = new Map<string, number>();
    for (let seed = 0; seed < count; seed++) {
      const { attack, good, told } = await attackedTrail(seed, engine);
      expect({ seed, attack, good, said: told !== '' }).toEqual({ seed, attack, good: false, said: true });
      detected.set(attack, (detected.get(attack) ?? 0) + 1);
    }
    for (const [attack, times] of detected) console.log(`${engine}: ${times} of ${times} detected: ${attack}`);
  },
);

test.each(runs)(
  '[audit §9.6] on $engine $count honest histories are never accused',
  { timeout: 1_800_000 },
  async ({ engine, count }) => {
    for (let seed = 0; seed < count; seed++)
      expect({ seed, told: await honestTrail(seed, engine) }).toEqual({ seed, told: '' });
    console.log(`${engine}: 0 false alarms in ${count} honest histories`);
  },
);
