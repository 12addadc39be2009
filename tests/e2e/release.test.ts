/**
 * The result of `npm run build` [platform §1.7]: it runs from a folder of its own without any package, and loads modules only when
 * they are needed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  editorFlow,
  root,
  runCommand,
  serviceEnvironment,
  startTestService,
  testFolders,
  virtualSite,
  waitFor,
} from './running-service.ts';

let release: string;
const program = (name: string): string => join(release, 'dist', 'bin', `${name}.js`);

beforeAll(() => {
  release = mkdtempSync(join(tmpdir(), 'setpoint-release-'));
  const built = spawnSync(process.execPath, [join(root, 'setup', 'build.ts'), release], { encoding: 'utf8' });
  expect([built.stderr, built.status]).toEqual(['', 0]);
});
afterAll(() => rmSync(release, { recursive: true, force: true }));

/** Imports as the bundler writes them, at the head of a file. */
const statements = /(?:^|;)import(?:[\w${},*\s]*from)?"([^"]+)"/gm;

/** Every file that is loaded before the program does anything, found through the imports in each. */
function loadedAtStart(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(statements))
    if (name.startsWith('.')) loadedAtStart(join(dirname(file), name), seen);
  return seen;
}

test('each file of the program is ASCII: V8 keeps it with one byte for a character', () => {
  const files = readdirSync(join(release, 'dist'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.js'),
  );
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((name) => /[^\0-\x7f]/.test(readFileSync(join(release, 'dist', name), 'utf8')))).toEqual([]);
});

test('[platform §1.7] the demo runs from the folder: rules, console, reference page, contract, forecasts', async () => {
  const folders = testFolders('');
  const service = await startTestService(
    folders,
    { SVC_CONFIG_DIR: join(release, 'config', 'demo'), SVC_LOG_LEVEL: 'info' },
    program('start'),
  );
  try {
    await waitFor(async () => (await service.read('/rules')).text.includes('Peak shaving'), 30_000);
    await waitFor(async () => (await service.read('/points')).text.includes('"quality":"good"'), 30_000);
    for (const path of ['/', '/docs/', '/docs/js/scalar.js', '/docs/contract/rules.md', '/openapi.json', '/ready'])
      expect([path, (await fetch(`${service.base}${path}`)).status]).toEqual([path, 200]);
    const tasks = await service.request('GET', '/api/v1/data-processing/tasks');
    expect(tasks.text).toContain('demo.load-day-ahead');
  } finally {
    expect(await service.stop()).toBe(0);
    folders.remove();
  }
});

test('[platform §1.7] commands, templates and tools of the folder work beside a service of it; a rule acts', async () => {
  const folders = testFolders(virtualSite);
  const service = await startTestService(folders, {}, program('serve'));
  try {
    const env = {
      ...serviceEnvironment(folders),
      SVC_BASE_URL: service.base,
      SVC_ACCESS_TOKEN: await service.token('Engineer'),
    };
    const setpoint = (...args: string[]): string => {
      const { status, stdout, stderr } = runCommand(program('setpoint'), args, env);
      expect([stderr, status], args.join(' ')).toEqual(['', 0]);
      return stdout;
    };
    expect(setpoint('--version').trim()).toBe(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
    expect(setpoint('site', 'templates')).toContain('eastron-sdm630');
    expect(setpoint('site', 'test-template', 'eastron-sdm630')).toContain('no errors');
    setpoint('rules', 'create', '--name', 'Limit', '--confirmed');
    const flow = JSON.stringify(editorFlow('x > 10'));
    const updated = await service.command('PUT', '/rules/1', { flow_json: JSON.parse(flow) as unknown });
    expect(updated.status).toBe(200);
    expect((await service.command('POST', '/rules/1/execute')).status).toBe(200);
    expect(setpoint('rules', 'history', '1')).not.toBe('');
    const { status } = spawnSync(process.execPath, [program('setpoint'), 'mcp'], { env, input: '', timeout: 20_000 });
    expect(status).toBe(0);
  } finally {
    await service.stop();
    folders.remove();
  }
});

test('[platform §1.7] a forecaster of the folder answers', async () => {
  const tasks = join(release, 'config', 'demo', 'processing', 'tasks');
  const env = { PATH: process.env['PATH'], SVC_FORECASTER_TASKS: tasks, SVC_FORECASTER_PORT: '0' };
  const child = spawn(process.execPath, [program('forecaster')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  try {
    const port = await waitFor(() => /"port":(\d+)/.exec(said)?.[1], 30_000);
    expect((await fetch(`http://127.0.0.1:${port}/v1/health`)).status).toBe(200);
  } finally {
    child.kill();
  }
});

test('[platform §1.7] rarely used code is not loaded at the start, and nothing outside of the folder ever', () => {
  const threads = [
    'automation/engine-thread',
    'automation/record-thread',
    'devices/device-thread',
    'historian/recorder-thread',
  ];
  const service = loadedAtStart(program('serve'));
  const bytes = [...service].reduce((sum, file) => sum + statSync(file).size, 0);
  process.stdout.write(`loaded at the start: ${(bytes / 1e6).toFixed(2)} MB in ${service.size} files\n`);
  expect(bytes).toBeLessThan(4_000_000);
  expect(service.size).toBeLessThan(60);
  /** Words that only one library's code contains. */
  const later = ['OTEL_TRACES_SAMPLER_ARG', 'createApiReference', 'class MqttClient', 'StdioServerTransport'];
  const loaded = new Set([
    ...service,
    ...threads.flatMap((name) => [...loadedAtStart(join(release, 'dist', `${name}.js`))]),
  ]);
  const all = readdirSync(join(release, 'dist'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(release, 'dist', name));
  for (const word of later) {
    const files = all.filter((file) => readFileSync(file, 'utf8').includes(word));
    expect([word, files.length > 0, files.filter((file) => loaded.has(file))]).toEqual([word, true, []]);
  }
  for (const file of loaded)
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(statements))
      expect([name, name.startsWith('.') || isBuiltin(name)]).toEqual([name, true]);
  expect(existsSync(join(release, 'node_modules'))).toBe(false);
  // Docker and people start it by its name.
  expect(statSync(program('setpoint')).mode & 0o111).not.toBe(0);
  expect(readFileSync(program('setpoint'), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  expect(readFileSync(join(release, 'LICENSES-OF-PACKAGES.txt'), 'utf8')).toMatch(/^fastify \d/m);
});
