import { describe, expect, test } from 'vitest';
import { runWorld } from '../../src/testing/world/world.ts';
import { storedSeeds } from './seeds.ts';

const realNow = (): number => performance.now();

describe('the deterministic world', () => {
  test('a seed gives the same trace again, and breaks nothing', async () => {
    const [first, second] = [await runWorld(7, 0.1, realNow), await runWorld(7, 0.1, realNow)];
    expect(first.violations).toEqual([]);
    expect(first.executions).toBeGreaterThan(100);
    expect(first.faults).toBeGreaterThan(3);
    expect(second.digest).toBe(first.digest);
  });

  test.for(storedSeeds())('seed $seed breaks nothing any more: $violation', async ({ seed, hours, without }) => {
    const { violations } = await runWorld(seed, hours, realNow, { without });
    expect(violations).toEqual([]);
  });
});
