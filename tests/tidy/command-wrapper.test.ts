/** ops/systemd/setpoint reads /etc/setpoint/environment as systemd does: as text, never as shell. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const script = readFileSync(join(import.meta.dirname, '..', '..', 'ops/systemd/setpoint'), 'utf8');
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-wrapper-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function program(name: string, text: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** Runs the script with its own file, ending in a program that prints how it was called. */
function run(lines: string | null, { uid = 0, env = {} }: { uid?: number; env?: NodeJS.ProcessEnv } = {}) {
  const environmentFile = join(folder, 'environment');
  const node = join(folder, 'opt/node');
  mkdirSync(join(node, '..'), { recursive: true });
  if (lines !== null) writeFileSync(environmentFile, lines);
  program('id', `echo ${uid}`);
  const print = (by: string) => `printf '%s\\0' "${by}" "$@"; printf 'ENV\\0'; env -0`;
  program('runuser', print('runuser'));
  program('opt/node', print('node'));
  const local = script
    .replaceAll('/etc/setpoint/environment', environmentFile)
    .replaceAll('/usr/sbin/runuser', join(folder, 'runuser'))
    .replaceAll('=/opt/setpoint/', `=${folder}/opt/`);
  program('setpoint', local);
  const { status, stdout, stderr } = spawnSync(join(folder, 'setpoint'), ['audit', 'verify', '--anchor', 'a b'], {
    encoding: 'utf8',
    cwd: folder,
    env: { PATH: `${folder}:/usr/bin:/bin`, ...env },
  });
  const printed = stdout.split('\0');
  const called = printed.slice(0, printed.indexOf('ENV'));
  const seen = new Map(
    printed.slice(printed.indexOf('ENV') + 1).map((each) => [each.split('=', 1)[0], each.slice(each.indexOf('=') + 1)]),
  );
  return { status, stderr, called, seen };
}

test('values are taken literally, without shell expansion', () => {
  const { status, called, seen } = run(
    [
      '# a comment; x=$(touch made-1)',
      '; another',
      '',
      'SVC_DATABASE_URL=postgres://setpoint:p$s@db:5432/s?sslmode=verify-full&application_name=x',
      'SVC_JWT_ISSUER=the plant touch made-2',
      'SVC_JWT_SECRET=`touch made-3`$(touch made-4)#;|>made-5',
      'SVC_MQTT_USERNAME="quoted # \'x\' "',
      'SVC_MQTT_PASSWORD=\'back\\slash "x" $HOME \'',
      '  SVC_ROLES = api,engine \t',
      'SVC_LOG_LEVEL=warn\r',
      'SVC_JWT_AUDIENCE=a"b\'c=d',
      'IFS=x',
      'SVC_JWT_JWKS_URL=',
      'SVC_DATA_DIR=/srv/setpoint',
    ].join('\n'),
  );
  expect(status).toBe(0);
  const started = [join(folder, 'opt/node'), join(folder, 'opt/dist/bin/setpoint.js')];
  expect(called).toEqual(['runuser', '-u', 'setpoint', '--', ...started, 'audit', 'verify', '--anchor', 'a b']);
  expect(Object.fromEntries(seen)).toMatchObject({
    SVC_DATABASE_URL: 'postgres://setpoint:p$s@db:5432/s?sslmode=verify-full&application_name=x',
    SVC_JWT_ISSUER: 'the plant touch made-2',
    SVC_JWT_SECRET: '`touch made-3`$(touch made-4)#;|>made-5',
    SVC_MQTT_USERNAME: "quoted # 'x' ",
    SVC_MQTT_PASSWORD: 'back\\slash "x" $HOME ',
    SVC_ROLES: 'api,engine',
    SVC_LOG_LEVEL: 'warn',
    SVC_JWT_AUDIENCE: 'a"b\'c=d',
    SVC_JWT_JWKS_URL: '',
    SVC_CONFIG_DIR: '/etc/setpoint',
    SVC_DATA_DIR: '/srv/setpoint',
  });
  expect([1, 2, 3, 4, 5].filter((each) => existsSync(join(folder, `made-${each}`)))).toEqual([]);
});

test.each([
  ['A=1\nB=a\\b', 2, 'single quotes'],
  ['A=1 \\', 1, 'single quotes'],
  ['A="a"b"', 1, 'double quotes'],
  ['A="a', 1, 'double quotes'],
  ['A="', 1, 'double quotes'],
  ["A='a' # why", 1, 'single quotes'],
  ["A='", 1, 'single quotes'],
  ['export A=1', 1, 'name of a variable'],
  ['touch made', 1, 'NAME=value'],
])('%j: what systemd would read in another way is refused, with its line', (lines, number, reason) => {
  const { status, stderr, called } = run(lines);
  expect(status).toBe(1);
  expect(stderr).toContain(`${join(folder, 'environment')}:${number}: `);
  expect(stderr).toContain(reason);
  // A secret does not appear on a screen.
  expect(stderr).not.toContain('A=');
  expect(called).toEqual([]);
});

test('without the file there are the two folders', () => {
  const { called, seen } = run(null);
  expect(called[0]).toBe('runuser');
  expect(seen.get('SVC_CONFIG_DIR')).toBe('/etc/setpoint');
  expect(seen.get('SVC_DATA_DIR')).toBe('/var/lib/setpoint');
});

test('who is not root runs it as they are, without the file', () => {
  const { status, called, seen } = run('SVC_JWT_SECRET=x\n', { uid: 1000, env: { SVC_ACCESS_TOKEN: 'token' } });
  expect(status).toBe(0);
  expect(called).toEqual(['node', join(folder, 'opt/dist/bin/setpoint.js'), 'audit', 'verify', '--anchor', 'a b']);
  expect(seen.has('SVC_JWT_SECRET')).toBe(false);
  expect(seen.get('SVC_ACCESS_TOKEN')).toBe('token');
  // Not ./data, which some commands would create.
  expect(seen.get('SVC_DATA_DIR')).toBe('/var/lib/setpoint');
});

test('it is a POSIX script', () => {
  execFileSync('sh', ['-n', join(import.meta.dirname, '..', '..', 'ops/systemd/setpoint')]);
});
