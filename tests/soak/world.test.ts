/** Long seeds of the deterministic world that once failed. */
import { expect, test } from 'vitest';
import { runWorld } from '../../src/testing/world/world.ts';
import { storedSeeds } from '../world/seeds.ts';

test.for(storedSeeds('long'))('seed $seed breaks nothing any more: $violation', async ({ seed, hours, without }) => {
  const { violations } = await runWorld(seed, hours, () => performance.now(), { without });
  expect(violations).toEqual([]);
});
