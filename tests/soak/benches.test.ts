/** Each measurement still runs to its end, at small sizes; what it prints then says nothing about speed. */
import { expect, test } from 'vitest';
import { benches, smoke } from '../e2e/bench-smoke.ts';

test.for(benches)('%s', { timeout: 300_000 }, async (file) => {
  expect(await smoke(file)).toMatch(/\d/);
});
