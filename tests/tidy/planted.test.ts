/** Each planted-fault patch applies to the current sources. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const folder = join('tests', 'world', 'planted');
const patches = readdirSync(folder).filter((name) => name.endsWith('.patch'));

test('planted faults were found', () => {
  expect(patches.length).toBeGreaterThan(28);
});

test.each(patches)('%s', (patch) => {
  expect(() => execFileSync('git', ['apply', '--check', join(folder, patch)], { stdio: 'pipe' })).not.toThrow();
});
