/** Every seed that once broke something in the deterministic world; `tests/world/world.test.ts` runs the quick ones. */
import { expect, test } from 'vitest';
import { runWorld } from '../../src/testing/world/world.ts';
import { storedSeeds } from '../world/seeds.ts';

test.for(storedSeeds())('seed $seed breaks nothing any more: $violation', async ({ seed, hours, without }) => {
  const { violations } = await runWorld(seed, hours, () => performance.now(), { without });
  expect(violations).toEqual([]);
});
