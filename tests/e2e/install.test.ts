/** `npm ci` uses no Node but the pinned one [platform §1.6], and needs none where development is left out. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { root } from './running-service.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-install-'));
  mkdirSync(join(folder, 'setup'));
  cpSync(join(root, 'setup', 'prepare.cjs'), join(folder, 'setup', 'prepare.cjs'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const bytes = Buffer.from('not a Node at all');
const digest = createHash('sha256').update(bytes).digest('hex');
function prepared(binary: Buffer | null, pins: Record<string, string>) {
  if (binary !== null) {
    mkdirSync(join(folder, 'node_modules', 'node', 'bin'), { recursive: true });
    writeFileSync(join(folder, 'node_modules', 'node', 'bin', 'node'), binary);
  }
  writeFileSync(join(folder, 'setup', 'node-binaries.json'), JSON.stringify({ version: '1.2.3', sha256: pins }));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['setup/prepare.cjs'], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}
const here = `${process.platform}-${process.arch}`;

test('[platform §1.6] a Node with the pinned digest is taken, another one stops the install and is not run', () => {
  expect(prepared(bytes, { [here]: digest })).toEqual({ status: 0, output: '' });
  const refused = prepared(Buffer.from('another'), { [here]: digest });
  expect(refused.status).toBe(1);
  expect(refused.output).toContain('is not the pinned one');
  expect(refused.output).toContain(digest);
});

test('a platform without a pin is named; an install without development says that there is nothing to check', () => {
  expect(prepared(bytes, {})).toMatchObject({ status: 0, output: expect.stringContaining(`pinned for ${here}`) });
  rmSync(join(folder, 'node_modules'), { recursive: true });
  expect(prepared(null, {})).toMatchObject({ status: 0, output: expect.stringContaining('--omit=dev') });
});

test('the Node of this install is the pinned one', () => {
  expect(spawnSync(process.execPath, [join(root, 'setup', 'prepare.cjs')], { encoding: 'utf8' }).status).toBe(0);
});
