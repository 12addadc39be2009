/** The command line as a process against a running service [platform §7]: answers, tables, JSON, exit codes, failures. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  editorFlow,
  programFile,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestFolders,
  type TestService,
  testFolders,
  virtualSite,
  waitFor,
} from './running-service.ts';

let folders: TestFolders;
let service: TestService;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  folders = testFolders(virtualSite);
  service = await startTestService(folders);
  env = {
    ...serviceEnvironment(folders),
    SVC_BASE_URL: service.base,
    SVC_ACCESS_TOKEN: await service.token('Admin'),
  };
});
afterAll(async () => {
  await service.stop();
  folders.remove();
});

const setpoint = (...args: string[]) => runCommand('setpoint', args, env);
const json = (...args: string[]): unknown => {
  const result = setpoint(...args, '--json');
  expect([result.status, result.stderr]).toEqual([0, '']);
  return JSON.parse(result.stdout);
};

describe('[platform §7] rules by the command line', () => {
  test('from a stub to a run, with the output of every command', () => {
    expect(setpoint('rules', 'create', '--name', 'Fill\u001b[31m', '--confirmed')).toMatchObject({
      status: 0,
      stdout: 'created 1 Fill�[31m\n',
    });
    writeFileSync(join(folders.config, 'flow.json'), JSON.stringify(editorFlow()));
    const flow = join(folders.config, 'flow.json');
    expect(
      setpoint('rules', 'update', '1', '--flow', flow, '--name', 'Fill', '--priority', '3', '--confirmed').stdout,
    ).toBe('updated 1\n');
    expect(setpoint('rules', 'enable', '1', '--confirmed').stdout).toBe('enabled 1\n');
    expect(setpoint('rules', 'list').stdout).toBe('1\tFill\tyes\t-\n');
    expect(json('rules', 'list', '--status')).toMatchObject({
      list: [{ id: 1, status: { state: 'waiting' } }],
      total: 1,
    });
    expect(json('rules', 'get', '1')).toMatchObject({ id: 1, priority: 3, revision: 3, flow_json: editorFlow() });
    expect(JSON.parse(setpoint('rules', 'get', '1', '--flow').stdout)).toEqual(editorFlow());
    expect(setpoint('rules', 'variables', '1').stdout).toBe('x\t1:1 measurement\t-\tm\tmissing\t-\n');
    expect(json('rules', 'status', '1')).toMatchObject({ rule_id: 1, runnable: true });
    const run = setpoint('rules', 'execute', '1', '--confirmed', '--json');
    expect([run.status, JSON.parse(run.stdout)]).toMatchObject([1, { outcome: 'skipped', actions_attempted: 0 }]);
    expect(json('rules', 'history', '1', '--limit', '1')).toMatchObject({ list: [{ outcome: 'skipped' }] });
    expect(setpoint('rules', 'disable', '1', '--confirmed').stdout).toBe('disabled 1\n');
    expect(setpoint('rules', 'delete', '1', '--confirmed').stdout).toBe('deleted 1\n');
  }, 120_000);

  test('the scheduler, the site and the audit trail', () => {
    expect(json('scheduler', 'status')).toMatchObject({ running: true, tick_interval_ms: 100 });
    expect(setpoint('scheduler', 'reload').stdout).toMatch(/^loaded \d+\n/);
    expect(setpoint('instances').stdout).toContain('1:1\tmeasurement\ttank\tlevel\tm\t-\t-\tyes\n');
    const searched = json('audit', 'search', '--action', 'automation.scheduler.reload', '--limit', '2');
    expect(searched).toMatchObject({ items: [{ outcome: 'succeeded' }, { outcome: 'accepted' }] });
  }, 60_000);

  test('--watch asks again and again, and Ctrl-C ends it in order', async () => {
    const args = [programFile('setpoint'), 'scheduler', 'status', '--watch', '0.1', '--json'];
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await waitFor(() => (output.split('\n').length > 3 ? true : undefined));
    const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
    child.kill('SIGINT');
    expect(await ended).toBe(0);
    for (const line of output.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ running: true });
  });
});

describe('[platform §7] an error is one clear line and the right exit code', () => {
  test.each([
    [
      'without --confirmed',
      ['rules', 'delete', '1', '--force'],
      {},
      2,
      /^setpoint: this would delete rule 1 .*give --confirmed/,
    ],
    [
      'an unknown rule',
      ['rules', 'get', '4711'],
      {},
      1,
      /^setpoint: rule 4711 not found \(not-found, correlation id \S+\)$/,
    ],
    ['a wrong token', ['rules', 'list'], { SVC_ACCESS_TOKEN: 'wrong' }, 1, /\(unauthenticated, correlation id \S+\)$/],
    ['no token', ['rules', 'list'], { SVC_ACCESS_TOKEN: '' }, 2, /^setpoint: SVC_ACCESS_TOKEN is not set/],
    [
      'an invalid token',
      ['rules', 'list'],
      { SVC_ACCESS_TOKEN: 'two words' },
      2,
      /^setpoint: SVC_ACCESS_TOKEN is not a token/,
    ],
    [
      'no service',
      ['rules', 'list'],
      { SVC_BASE_URL: 'http://127.0.0.1:1' },
      3,
      /^setpoint: no answer from http:\/\/127\.0\.0\.1:1: /,
    ],
    ['no address', ['rules', 'list'], { SVC_BASE_URL: 'localhost' }, 2, /^setpoint: SVC_BASE_URL must be/],
    [
      'a file that is not there',
      ['rules', 'update', '1', '--flow', 'none.json', '--confirmed'],
      {},
      1,
      /^setpoint: none\.json: neither a JSON object nor a file$/,
    ],
    [
      'a file that is no JSON',
      ['rules', 'update', '1', '--flow', '{"a":1,"a":2}', '--confirmed'],
      {},
      1,
      /^setpoint: the value: /,
    ],
    ['nothing to change', ['rules', 'update', '1', '--confirmed'], {}, 2, /^setpoint: name at least one thing/],
    [
      'an invalid time',
      ['audit', 'search', '--from', 'yesterday'],
      {},
      1,
      /^setpoint: query \/from: must be a time in UTC as YYYY-MM-DDTHH:MM:SSZ: only events not before it \(invalid-input, /,
    ],
    [
      'no number of a rule',
      ['rules', 'get', 'x'],
      {},
      2,
      /^setpoint: 'x' is invalid for argument 'id'\. Give the number of a rule; add --help for usage$/,
    ],
    [
      'a data dir that cannot be read',
      ['history', 'export', '--point', '1:1'],
      { SVC_DATA_DIR: '/dev/null' },
      1,
      /^setpoint: the data dir \/dev\/null cannot be read \(ENOTDIR\): run this as the account of the service/,
    ],
    [
      'a site folder that cannot be written',
      ['site', 'new', '--id', 'plant', '--timezone', 'UTC', '--confirmed'],
      { SVC_CONFIG_DIR: '/dev/null/site' },
      1,
      /^setpoint: ENOTDIR: not a directory, mkdir '\/dev\/null\/site'$/,
    ],
    [
      'an export that is a folder',
      ['audit', 'verify', '--file', '/'],
      {},
      1,
      /^setpoint: \/: cannot be read \(EISDIR\)$/,
    ],
    [
      'an anchor that is none',
      ['audit', 'verify', '--anchor', '/'],
      {},
      1,
      /^setpoint: \/: cannot be read \(EISDIR\)$/,
    ],
    ['a proof that is a folder', ['audit', 'verify-proof', '/', '--key', 'x'], {}, 1, /^setpoint: \/: cannot be read/],
    [
      'a database server that does not answer',
      ['audit', 'verify'],
      { SVC_DATABASE_URL: 'postgres://127.0.0.1:1/site', SVC_DATA_DIR: '/none' },
      1,
      /^setpoint: the site database cannot be opened: connect ECONNREFUSED 127\.0\.0\.1:1$/,
    ],
  ])('%s', (_name, args, more, status, line) => {
    const result = runCommand('setpoint', args, { ...env, ...more });
    expect([result.status, result.stdout]).toEqual([status, '']);
    expect(result.stderr.trimEnd()).toMatch(line);
    expect(result.stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test.each(['verify', 'export'])(
    'a damaged key of the audit log, of which `audit %s` reads the public half',
    (command) => {
      const damaged = testFolders(virtualSite);
      onTestFinished(() => damaged.remove());
      mkdirSync(damaged.data, { recursive: true });
      writeFileSync(join(damaged.data, 'audit-key.pem'), 'no key');
      const result = runCommand('setpoint', ['audit', command], serviceEnvironment(damaged));
      const line = 'setpoint: audit-key.pem in the data dir is damaged: restore it from a backup\n';
      expect([result.status, result.stdout, result.stderr]).toEqual([1, '', line]);
    },
  );

  test('a disk that is full: the output that cannot be written', () => {
    const program = programFile('setpoint');
    for (const args of ['instances', 'scheduler status --json']) {
      const command = `exec "$0" "$1" ${args} > /dev/full`;
      const result = spawnSync('sh', ['-c', command, process.execPath, program], { env, encoding: 'utf8' });
      const line = 'the output cannot be written (ENOSPC)';
      expect([result.status, result.stderr]).toEqual([
        1,
        args.includes('--json')
          ? `${JSON.stringify({ error: { code: 'command-failed', message: line } })}\n`
          : `setpoint: ${line}\n`,
      ]);
    }
  });

  test('wrong usage exits 2 and names the error', () => {
    for (const args of [['rules', 'get', '0'], ['rules', 'list', '--nonsense'], ['nonsense'], ['rules', 'create']]) {
      const result = setpoint(...args);
      expect([result.status, result.stdout]).toEqual([2, '']);
      expect(result.stderr).toMatch(/^setpoint: /);
      expect(result.stderr).not.toMatch(/\n\s+at /);
    }
  });

  test('a flow that is refused: every issue with its node and its hint; with --json the envelope', async () => {
    const id = (await service.command('POST', '/rules', { name: 'r' })).body['data']?.['id'];
    const flow = editorFlow('y > 1', 1000);
    const args = ['rules', 'update', String(id), '--flow', JSON.stringify(flow), '--confirmed'];
    const told = setpoint(...args);
    expect(told.status).toBe(1);
    expect(told.stderr).toMatch(/\(invalid-flow, correlation id \S+\)\n/);
    expect(told.stderr).toMatch(/\nsetpoint: {3}node decide, .*y/);
    expect(told.stderr).toMatch(/\nsetpoint: {3}node act, .*1000/);
    const asJson = setpoint(...args, '--json');
    expect(JSON.parse(asJson.stderr)).toMatchObject({
      error: { code: 'invalid-flow', correlationId: expect.any(String), details: { issues: expect.any(Array) } },
    });
    const stale = setpoint('rules', 'update', String(id), '--priority', '1', '--revision', '99', '--confirmed');
    expect([stale.status, stale.stderr]).toEqual([1, expect.stringContaining('revision-conflict')]);
  });
});

describe('[platform §7] completion', () => {
  /** Bash's completions after these words. */
  const offered = (...words: string[]): string[] => {
    const script = `eval "$1"; COMP_WORDS=(setpoint ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _setpoint; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const made = setpoint('completion', 'bash').stdout;
    const result = spawnSync('bash', ['--norc', '-c', script, 'bash', made], { encoding: 'utf8', cwd: folders.data });
    expect(result.stderr).toBe('');
    return result.stdout.trim().split('\n');
  };

  test('bash completes commands, options and their values', () => {
    expect(offered('')).toEqual(expect.arrayContaining(['rules', 'scheduler', 'token', 'mcp', 'backup', '--version']));
    expect(offered('rules', 'en')).toEqual(['enable']);
    expect(offered('rules', 'list', '--en')).toEqual(['--enabled']);
    expect(offered('rules', 'list', '--enabled', 't')).toEqual(['true']);
    expect(offered('token', '--role', '')).toEqual(['Admin', 'Engineer', 'Viewer']);
    expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish', '--help']);
  });

  test.each(['zsh', 'fish'])('%s has every command', (shell) => {
    const script = setpoint('completion', shell).stdout;
    for (const word of ['rules', 'execute', 'variables', 'scheduler', 'reload', 'history', 'backup', 'confirmed'])
      expect(script).toContain(word);
    expect(setpoint('completion', 'tcsh').status).toBe(2);
  });
});
