/** From an empty folder to a rule that acts on a SunSpec device, by the command line [points §1.1], [points §8.7]; counted. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { modules } from '../../src/testing/sunspec-definition.ts';
import {
  editorFlow,
  programFile,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestFolders,
  waitFor,
} from './running-service.ts';

const closers: (() => void | Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function emptyFolders(): TestFolders {
  const base = mkdtempSync(join(tmpdir(), 'setpoint-empty-'));
  closers.push(() => rmSync(base, { recursive: true, force: true }));
  const config = join(base, 'config');
  return {
    config,
    data: join(base, 'data'),
    write: (name, text) => writeFileSync(join(config, name), text),
    remove: () => undefined,
  };
}

/** The device at the other end; its port, and its output so far. */
async function simulated(
  template: string,
  of = emptyFolders(),
): Promise<{ readonly port: string; readonly said: () => string; readonly process: ChildProcess }> {
  const child = spawn(process.execPath, [programFile('setpoint'), 'simulate', template, '--port', '0'], {
    env: serviceEnvironment(of),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  closers.push(() => void child.kill());
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const port = await waitFor(() => /listens on 127\.0\.0\.1:(\d+)/.exec(output)?.[1], 30_000);
  return { port, said: () => output, process: child };
}

test('at most ten commands from an empty folder to a rule that acts on a SunSpec device', async () => {
  const device = await simulated('sunspec-inverter');
  const folders = emptyFolders();
  let env: NodeJS.ProcessEnv = serviceEnvironment(folders);
  let commands = 0;
  const setpoint = (...args: string[]): string => {
    commands++;
    const result = runCommand('setpoint', args, env);
    expect([result.stderr, result.status], args.join(' ')).toEqual(['', 0]);
    return result.stdout;
  };
  setpoint('site', 'new', '--id', 'bakery', '--timezone', 'Europe/Amsterdam', '--confirmed');
  const place = ['--set', 'host=127.0.0.1', '--set', `port=${device.port}`];
  setpoint('site', 'add', 'sunspec-inverter', '--name', 'inverter', ...place, '--confirmed');
  expect(setpoint('site', 'check')).toBe('bakery: no errors (1 channel, 1 instance, 7 points)\n');
  commands++;
  const service = await startTestService(folders);
  closers.push(() => service.stop());
  const token = setpoint('token', '--role', 'Engineer', '--subject', 'ada').trim();
  env = { ...env, SVC_BASE_URL: service.base, SVC_ACCESS_TOKEN: token };
  await waitFor(async () => (await service.read('/points')).text.includes('"value":12.345'));
  expect(setpoint('points', 'read', '1:1')).toBe('12.345 kW\n');

  writeFileSync(join(folders.config, 'flow.json'), JSON.stringify(editorFlow()));
  setpoint('rules', 'create', '--name', 'Limit', '--confirmed');
  setpoint('rules', 'update', '1', '--flow', join(folders.config, 'flow.json'), '--confirmed');
  setpoint('rules', 'enable', '1', '--confirmed');
  // 5 % through a scale factor of -2.
  await waitFor(() => (device.said().includes('written holding 40126: 500\n') ? true : undefined));
  expect(commands).toBe(9);
}, 120_000);

test('points of a running site by their references: read, written and traced; a device is scanned', async () => {
  const device = await simulated('sunspec-inverter');
  const folders = emptyFolders();
  let env: NodeJS.ProcessEnv = serviceEnvironment(folders);
  const setpoint = (...args: string[]) => runCommand('setpoint', args, env);
  setpoint('site', 'new', '--id', 'bakery', '--timezone', 'Europe/Amsterdam', '--confirmed');
  setpoint(
    'site',
    'add',
    'sunspec-inverter',
    '--name',
    'inverter',
    '--set',
    'host=127.0.0.1',
    '--set',
    `port=${device.port}`,
    '--confirmed',
  );
  const service = await startTestService(folders);
  closers.push(() => service.stop());
  env = { ...env, SVC_BASE_URL: service.base, SVC_ACCESS_TOKEN: await service.token('Engineer') };
  await waitFor(async () => (await service.read('/points')).text.includes('"value":12.345'));

  const watching = spawn(
    process.execPath,
    [programFile('setpoint'), 'points', 'watch', '1:1', '1:action:1', '--every', '0.2'],
    { env, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let seen = '';
  watching.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => watching.on('exit', resolve));
  await waitFor(() => (seen.includes(' 1:action:1 power_limit 100 %\n') ? true : undefined));

  const write = ['points', 'write', '1:action:1', '60', '--reason', 'trying the limit'];
  expect(setpoint(...write)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('this would hold 1:action:1 at 60 for 5 s'),
  });
  expect(setpoint(...write, '--confirmed')).toMatchObject({ status: 0, stdout: '1:action:1: 60 % written\n' });
  await waitFor(() => (device.said().includes('written holding 40126: 6000\n') ? true : undefined));
  await waitFor(() => (seen.includes(' 1:action:1 power_limit 60 %\n') ? true : undefined));
  // On a machine whose clock is an hour behind or ahead, the result is that of this command, not of the one before.
  for (const [value, offMs] of [
    ['70', -3_600_000],
    ['80', 3_600_000],
  ] as const) {
    const shifted = encodeURIComponent(`const now = Date.now; Date.now = () => now() + ${offMs};`);
    const shiftedEnv = { ...env, NODE_OPTIONS: `--import=data:text/javascript,${shifted}` };
    const args = ['points', 'write', '1:action:1', value, '--reason', 'another clock', '--confirmed'];
    expect(runCommand('setpoint', args, shiftedEnv)).toMatchObject({
      status: 0,
      stdout: `1:action:1: ${value} % written\n`,
    });
  }
  watching.kill('SIGINT');
  expect(await ended).toBe(0);
  // One line per change, not one per check.
  expect(seen.match(/ 1:measurement:1 /g)).toHaveLength(1);
  const again = ['points', 'write', '1:action:1', '90', '--reason', 'as JSON', '--confirmed', '--json'];
  const entry = { instance: 1, point_type: 'action', point: 1, last_command: { written: 90, result: 'written' } };
  expect(JSON.parse(setpoint(...again).stdout)).toMatchObject(entry);
  const lines = spawn(process.execPath, [programFile('setpoint'), 'points', 'watch', '1:1', '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  closers.push(() => void lines.kill());
  const [first] = (await once(lines.stdout, 'data')) as [Buffer];
  expect(JSON.parse(first.toString())).toMatchObject({ instance: 1, point: 1, value: 12.345 });
  expect(setpoint('points', 'write', '1:measurement:1', '5', '--reason', 'no', '--confirmed').status).toBe(2);
  expect(setpoint('points', 'read', '9:1')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('no point 9:measurement:1'),
  });
  expect(setpoint('channels', 'trace', 'sunspec-inverter-1').stdout).toContain(
    'read holding 40000..40001 of unit 1\t5375 6e53\n',
  );
  const scanned = setpoint('channels', 'scan', 'sunspec-inverter-1').stdout;
  expect(scanned).toMatch(/^103\tinverter, three phase\t\d+\tW\t12345\tW$/m);
  expect(scanned).toMatch(/^1\tcommon\t\d+\tMd\tInverter\t$/m);
  const scan = (query: string) => service.read(`/channels/sunspec-inverter-1/scan?${query}`);
  for (const query of ['count=0', 'count=1001', 'from=65536', 'unit=256']) {
    const refused = await scan(query);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(`"path":"/${query.split('=')[0]}"`)]);
  }
  for (const query of ['count=1000', 'from=65535', 'table=input']) {
    const refused = await scan(query);
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('a SunSpec device is scanned for its models'),
    ]);
  }
  expect((await scan('unit=1')).status).toBe(200);
  expect((await service.read('/channels/nothing/scan')).status).toBe(404);
  device.process.kill();
  await waitFor(() => (setpoint('points', 'read', '1:1').status === 1 ? true : undefined));
  expect(setpoint('points', 'read', '1:1').stderr).toMatch(
    /1:measurement:1 active_power has no value \((offline|bad)\)/,
  );
}, 120_000);

const ownTemplate = `schema: svc.device-template.v1
name: own-string
title: Battery string
source: model 64902 of the site
parameters: { host: { type: text }, port: { type: integer } }
channel: { driver: sunspec, host: "\${host}", port: "\${port}", poll_interval_ms: 50 }
points:
  - { id: 1, name: voltage, kind: measurement, unit: V, address: { model: 64902, point: "ModV[2]" } }
self_test:
  - given: { models: [{ model: 64902, values: { V_SF: -1, "ModV[2]": 512 }, repetitions: 2 }] }
    then: { voltage: 51.2 }
`;

test('[points §3.4] a SunSpec model that the site defines: checked, simulated, read, scanned, and changed without a restart', async () => {
  const folders = emptyFolders();
  let env: NodeJS.ProcessEnv = serviceEnvironment(folders);
  const setpoint = (...args: string[]) => runCommand('setpoint', args, env);
  setpoint('site', 'new', '--id', 'bakery', '--timezone', 'Europe/Amsterdam', '--confirmed');
  for (const folder of ['templates', 'sunspec']) mkdirSync(join(folders.config, folder));
  folders.write('templates/own-string.yaml', ownTemplate);
  folders.write('sunspec/model_64902.json', JSON.stringify({ ...modules, id: 0 }));
  expect(setpoint('site', 'check')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('sunspec/model_64902.json:1: /id must be at least 1'),
  });
  folders.write('sunspec/model_64902.json', JSON.stringify(modules));
  expect(setpoint('site', 'test-template', 'own-string').stdout).toBe('own-string: no errors (1 self-test)\n');
  const device = await simulated('own-string', folders);
  const place = ['--set', 'host=127.0.0.1', '--set', `port=${device.port}`];
  expect(setpoint('site', 'add', 'own-string', '--name', 'string', ...place, '--confirmed').status).toBe(0);
  const service = await startTestService(folders);
  closers.push(() => service.stop());
  env = { ...env, SVC_BASE_URL: service.base, SVC_ACCESS_TOKEN: await service.token('Engineer') };
  await waitFor(() => (setpoint('points', 'read', '1:1').stdout === '51.2 V\n' ? true : undefined));
  expect(setpoint('channels', 'scan', 'own-string-1').stdout).toMatch(
    /^64902\tvendor_model\t\d+\tModV\[2\]\t51\.2\tV$/m,
  );
  // The definition was wrong: the device reports hundredths of a volt.
  folders.write('sunspec/model_64902.json', JSON.stringify(modules).replace('"sf":"V_SF"', '"sf":-2'));
  expect(setpoint('site', 'reload', '--confirmed').status).toBe(0);
  await waitFor(() => (setpoint('points', 'read', '1:1').stdout === '5.12 V\n' ? true : undefined));
}, 120_000);

test('points from a table: all of them, or none with the error of each row', () => {
  const folders = emptyFolders();
  const env = serviceEnvironment(folders);
  const setpoint = (...args: string[]) => runCommand('setpoint', args, env);
  setpoint('site', 'new', '--id', 'bakery', '--timezone', 'Europe/Amsterdam', '--confirmed');
  const path = join(folders.config, 'site.yaml');
  const before = readFileSync(path, 'utf8').replace(
    'channels: []',
    '# The meter in the cellar.\nchannels: [{ id: meter, driver: modbus-tcp, host: 10.0.0.7, port: 502, unit_id: 1, poll_interval_ms: 1000, timeout_ms: 500, word_order: big }]',
  );
  writeFileSync(path, before);
  const table = join(folders.config, 'points.csv');
  const header =
    'instance,instance_name,point,name,kind,unit,channel,scale,address.table,address.register,address.type';
  writeFileSync(
    table,
    `${header}\n1,meter,1,power,measurement,kW,meter,0.001,input,100,int32\n1,meter,2,odd,measurement,1,meter,,input,102,text\n`,
  );
  expect(setpoint('site', 'import-points', table, '--confirmed')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('points.csv:3: address/type'),
  });
  expect(readFileSync(path, 'utf8')).toBe(before);
  writeFileSync(
    table,
    `${header}\n1,meter,1,power,measurement,kW,meter,0.001,input,100,int32\n1,meter,2,"state, raw",measurement,1,meter,,input,102,uint16\n`,
  );
  expect(setpoint('site', 'import-points', table)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('add 2 points'),
  });
  expect(readFileSync(path, 'utf8')).toBe(before);
  expect(setpoint('site', 'import-points', table, '--confirmed').status).toBe(0);
  expect(readFileSync(path, 'utf8')).toContain('# The meter in the cellar.');
  expect(setpoint('site', 'check')).toMatchObject({
    stdout: 'bakery: no errors (1 channel, 1 instance, 2 points)\n',
    stderr: '',
  });
  const twice = [3, 4].map((id) => `1,meter,${id},relay ${id},action,1,meter,,coil,7,bool,0,1\n`).join('');
  writeFileSync(table, `${header},min,max\n${twice}`);
  expect(setpoint('site', 'import-points', table, '--confirmed')).toMatchObject({ status: 0, stderr: '' });
  expect(setpoint('site', 'check')).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(/^setpoint: warning: 1:action:3 .+ and 1:action:4 .+ write the same place/),
  });
  writeFileSync(join(folders.config, 'service.yaml'), 'devices: { reconnect_min_ms: 0 }\n');
  writeFileSync(path, readFileSync(path, 'utf8').replace('driver: modbus-tcp', 'driver: carrier-pigeon'));
  const { status, stderr } = setpoint('site', 'check');
  expect(status).toBe(1);
  expect(stderr).toMatch(/service\.yaml:1: .*reconnect_min_ms/);
  expect(stderr).toMatch(/site\.yaml:\d+: \/channels\/0\/driver unknown driver carrier-pigeon/);
}, 60_000);

test('[platform §7] the commands on the files of a site print their results as JSON', () => {
  const folders = emptyFolders();
  const run = (...args: string[]) => runCommand('setpoint', [...args, '--json'], serviceEnvironment(folders));
  const result = (...args: string[]): unknown => JSON.parse(run(...args).stdout);
  const file = join(folders.config, 'site.yaml');
  expect(result('site', 'new', '--id', 'bakery', '--timezone', 'Europe/Amsterdam', '--confirmed')).toEqual({ file });
  const device = ['--name', 'meter', '--set', 'host=10.0.0.7', '--confirmed'];
  expect(result('site', 'add', 'eastron-sdm630', ...device)).toEqual({
    file,
    instance: 1,
    name: 'meter',
    template: 'eastron-sdm630',
    points: expect.any(Number),
  });
  expect(result('site', 'check')).toEqual({ errors: [], warnings: [] });
  expect(result('site', 'test-template', 'eastron-sdm630')).toEqual({ template: 'eastron-sdm630', self_tests: 1 });
  const table = join(folders.config, 'points.csv');
  const header = 'instance,instance_name,point,name,kind,unit,channel,address.table,address.register,address.type';
  writeFileSync(table, `${header}\n2,extra,1,power,measurement,kW,eastron-sdm630-1,input,100,int32\n`);
  expect(run('site', 'import-points', table)).toMatchObject({ status: 2, stdout: '' });
  expect(result('site', 'import-points', table, '--confirmed')).toEqual({ file, points: 1 });
  writeFileSync(file, readFileSync(file, 'utf8').replace('Europe/Amsterdam', 'Europe/Atlantis'));
  const wrong = run('site', 'check');
  expect([wrong.status, JSON.parse(wrong.stdout)]).toEqual([
    1,
    { errors: ['site.yaml:5: /site/timezone is not an IANA time zone'], warnings: [] },
  ]);
  expect(JSON.parse(wrong.stderr)).toMatchObject({ error: { code: 'command-failed' } });
}, 60_000);

test('[points §1.1] a device of a template joins a channel of the site; digits may be text', () => {
  const folders = emptyFolders();
  const setpoint = (...args: string[]) => runCommand('setpoint', args, serviceEnvironment(folders));
  const site = join(folders.config, 'site.yaml');
  setpoint('site', 'new', '--id', 'bakery', '--timezone', 'Europe/Amsterdam', '--confirmed');
  const broker = 'channels:\n  - { id: broker, driver: mqtt, url: "mqtt://127.0.0.1:1883" }\n';
  writeFileSync(site, readFileSync(site, 'utf8').replace('channels: []\n', broker));
  const add = (channel: string, prefix: string) => {
    const device = ['--name', prefix, '--channel', channel, '--set', `prefix=${prefix}`];
    return setpoint('site', 'add', 'shelly-pro-3em', ...device, '--confirmed');
  };
  expect(add('broker', '4711')).toMatchObject({ status: 0, stderr: '' });
  expect(add('gone', 'b')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('channel unknown channel gone'),
  });
  expect(setpoint('site', 'check').stdout).toBe('bakery: no errors (1 channel, 1 instance, 6 points)\n');
  expect(readFileSync(site, 'utf8')).toContain('prefix: "4711"');
}, 60_000);
