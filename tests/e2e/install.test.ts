/**
 * `npm ci` uses no Node but the pinned one [platform §1.6], and needs none without development packages; optional packages may be
 * left out too [platform §1.7].
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { root, runCommand, serviceEnvironment, startTestService, testFolders, virtualSite } from './running-service.ts';

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

describe('[platform §1.7] optional packages may be omitted', () => {
  // From the sources: a built program includes its packages.
  const source = (name: string): string => join(root, 'src', 'bin', `${name}.ts`);
  const hidden = { NODE_OPTIONS: `--import=${join(import.meta.dirname, 'without-optional.ts')}` };

  test('an installation without development has 150 packages or fewer', () => {
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<
        Record<string, { readonly dev?: true; readonly optional?: true; readonly devOptional?: true }>
      >;
    };
    const installed = Object.entries(packages).filter(
      ([path, { dev, optional, devOptional }]) =>
        path !== '' && dev !== true && optional !== true && devOptional !== true,
    );
    expect(installed.length).toBeGreaterThan(50);
    expect(installed.length).toBeLessThanOrEqual(150);
  });

  test('the service runs; the reference page, the tools and traces each name the package that they need', async () => {
    const folders = testFolders(virtualSite);
    const service = await startTestService(folders, hidden, source('serve'));
    const page = await fetch(`${service.base}/docs`);
    expect([page.status, await page.text()]).toEqual([
      404,
      expect.stringMatching(/@scalar\/fastify-api-reference.*built program/),
    ]);
    expect((await fetch(`${service.base}/openapi.json`)).status).toBe(200);
    await service.stop();
    const tools = runCommand(
      source('setpoint'),
      ['mcp'],
      serviceEnvironment(folders, { ...hidden, SVC_ACCESS_TOKEN: 'any' }),
    );
    expect([tools.status, tools.stderr]).toEqual([
      1,
      expect.stringMatching(/setpoint mcp needs.*modelcontextprotocol/),
    ]);
    const traced = { ...hidden, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
    const refused = runCommand(source('serve'), [], serviceEnvironment(folders, traced));
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringMatching(/sending traces needs.*sdk-node/)]);
    folders.remove();
  });
});
