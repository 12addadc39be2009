/** That each measurement still runs to its end, at small sizes; what it prints then says nothing about speed. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { benchFolder, smoke } from '../e2e/bench-smoke.ts';

const benches = readdirSync(benchFolder).filter((file) => file.endsWith('.ts') && file !== 'run.ts');

test.for(benches)('%s', { timeout: 300_000 }, async (file) => {
  expect(await smoke(file)).toMatch(/\d/);
});
