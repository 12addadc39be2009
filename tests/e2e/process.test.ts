/** The service as a process, and the command line ([platform §2.1] Process and Commands, [rules §7], [platform §7]). */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { openDatabase } from '../../src/databases/site-database.ts';
import { engines } from '../../src/testing/engines.ts';
import { afterThisTest, folders, start, storedOn } from './per-test.ts';
import {
  editorFlow,
  feedFlow,
  type Json,
  runCommand,
  serviceEnvironment,
  type TestFolders,
  type TestService,
  virtualSite,
  waitFor,
} from './running-service.ts';
import { rulesRun, type SiteStorage } from './storage-on.ts';

async function addRule(service: TestService, name: string, fields: Readonly<Record<string, unknown>>): Promise<number> {
  const id = Number((await service.command('POST', '/rules', { name })).body['data']?.['id']);
  const updated = await service.command('PUT', `/rules/${id}`, fields);
  expect(updated.status, updated.text).toBe(200);
  return id;
}
const historyOf = async (service: TestService, id: number): Promise<readonly Json[]> =>
  (await service.read(`/rules/${id}/history?limit=100`)).body['data']?.['list'] as unknown as readonly Json[];

describe('[platform §1.1] a start that cannot be', () => {
  const failing = (of: TestFolders, more: Readonly<Record<string, string>> = {}) =>
    runCommand('serve', [], serviceEnvironment(of, more));
  const oneLine = (result: ReturnType<typeof failing>, pattern: RegExp): void => {
    expect([result.status, result.stdout]).toEqual([1, '']);
    expect(result.stderr).toMatch(pattern);
    expect(result.stderr.trim().split('\n')).toHaveLength(1);
  };

  test('a port in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    afterThisTest(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    oneLine(failing(folders(), { SVC_HTTP_PORT: String(port) }), /^setpoint: 127\.0\.0\.1:\d+: the port is in use\n$/);
  });

  test('a bad site, service file, variable; a site that is not there', () => {
    oneLine(failing(folders(virtualSite.replace('unit: m', 'unti: m'))), /^setpoint: site\.yaml:\d+: .*unti/);
    const of = folders();
    of.write('service.yaml', 'automation:\n  tick_interval_ms: 5\n');
    oneLine(failing(of), /^setpoint: service\.yaml:2: /);
    oneLine(failing(folders(), { SVC_HTTP_PORT: '80x' }), /SVC_HTTP_PORT/);
    oneLine(failing(folders(), { SVC_JWT_SECRET: 'short' }), /SVC_JWT_SECRET/);
    oneLine(failing(folders(), { SVC_CONFIG_DIR: join(folders().config, 'none') }), /no site\.yaml/);
  });

  test('a data dir that is not a folder, and one written by a newer program', () => {
    const of = folders();
    writeFileSync(of.data, '');
    oneLine(failing(of), /is not writable/);
    const newer = folders();
    mkdirSync(newer.data);
    const file = join(newer.data, 'site.sqlite');
    const database = new DatabaseSync(file);
    database.exec('PRAGMA user_version = 9999');
    database.close();
    oneLine(failing(newer), /data format 9999/);
  });

  test('one service per data dir', async () => {
    const of = folders();
    await start(of);
    oneLine(failing(of), /another service uses the data dir/);
  });
});

describe('a running process', () => {
  test('limits of service.yaml count', async () => {
    const of = folders();
    of.write('service.yaml', 'automation:\n  tick_interval_ms: 50\n  max_rules: 1\n');
    const service = await start(of);
    expect((await service.read('/scheduler/status')).body['data']).toMatchObject({ tick_interval_ms: 50 });
    expect((await service.command('POST', '/rules', { name: 'first' })).status).toBe(200);
    expect((await service.command('POST', '/rules', { name: 'second' })).status).toBe(400);
  });

  test('SIGTERM and SIGINT end it within 10 s with status 0, with a stream open, and nothing that ran is lost', async () => {
    const of = folders();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const service = await start(of);
      const id = await addRule(service, signal, { flow_json: feedFlow() });
      const socket = new WebSocket(`${service.base.replace('http', 'ws')}/ws`);
      await new Promise((resolve) => socket.once('open', resolve));
      const run = await service.command('POST', `/rules/${id}/execute`);
      const begun = Date.now();
      expect(await service.stop(signal)).toBe(0);
      expect(Date.now() - begun).toBeLessThan(10_000);
      const next = await start(of);
      expect(await historyOf(next, id)).toEqual([run.body['data']?.['execution']]);
      await next.stop();
    }
  });

  test('[rules §3.4] a restart and a crash keep cooldowns; an interval continues', async () => {
    const of = folders();
    let service = await start(of);
    const feed = await addRule(service, 'feed', {
      flow_json: feedFlow(),
      trigger_config: { type: 'interval', interval_ms: 100 },
    });
    const id = await addRule(service, 'cooling', {
      flow_json: editorFlow(),
      cooldown_ms: 600_000,
      trigger_config: { type: 'interval', interval_ms: 100 },
    });
    await service.command('POST', `/rules/${feed}/enable`);
    await service.command('POST', `/rules/${id}/enable`);
    const acted = await waitFor(async () =>
      (await historyOf(service, id)).find((run) => run['outcome'] === ('acted' as unknown)),
    );
    const until = (await service.read(`/rules/${id}/status`)).body['data']?.['cooldown_until'];
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const fed = (await historyOf(service, feed))[0]?.['execution_id'];
      await service.stop(signal);
      service = await start(of);
      await waitFor(async () => (await historyOf(service, feed))[0]?.['execution_id'] !== fed);
      const status = (await service.read(`/rules/${id}/status`)).body['data'];
      expect(status).toMatchObject({ state: 'cooldown', last_run: { execution_id: acted['execution_id'] } });
      expect(Math.abs(Date.parse(String(status?.['cooldown_until'])) - Date.parse(String(until)))).toBeLessThan(1000);
      expect((await historyOf(service, id)).filter((run) => run['outcome'] === ('acted' as unknown))).toHaveLength(1);
    }
  });

  test('[rules §8] live stream: authenticate, subscribe to several rules, records as they happen', async () => {
    const service = await start(folders());
    const [first, second, other] = [
      await addRule(service, 'one', { flow_json: feedFlow(1) }),
      await addRule(service, 'two', { flow_json: feedFlow(2) }),
      await addRule(service, 'other', { flow_json: feedFlow(3) }),
    ];
    const socket = new WebSocket(`${service.base.replace('http', 'ws')}/ws`);
    const messages: Json[] = [];
    socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString()) as Json));
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(JSON.stringify({ type: 'authenticate', token: await service.token('Viewer') }));
    await waitFor(() => messages.length === 1 || undefined);
    socket.send(JSON.stringify({ type: 'subscribe', data: { source: 'rule', channels: [first, second] } }));
    await waitFor(() => messages.length === 2 || undefined);
    const runs = [];
    for (const id of [first, other, second])
      runs.push((await service.command('POST', `/rules/${id}/execute`)).body['data']?.['execution']);
    await waitFor(() => messages.length === 4 || undefined);
    expect(messages).toEqual([
      { type: 'authenticated' },
      { type: 'subscribed', data: { source: 'rule', channels: [first, second] } },
      { type: 'rule_execution', data: runs[0] },
      { type: 'rule_execution', data: runs[2] },
    ]);
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    socket.send('nonsense');
    await waitFor(() => messages.at(-1)?.['type'] === ('error' as unknown) || undefined);
    socket.close();
    await closed;
    const stranger = new WebSocket(`${service.base.replace('http', 'ws')}/ws`);
    const refused = new Promise<number>((resolve) => stranger.once('close', resolve));
    stranger.once('open', () => stranger.send(JSON.stringify({ type: 'authenticate', token: 'bad' })));
    expect(await refused).toBe(4001);
  });
});

test('[platform §7] --version; wrong usage exits 2', () => {
  const setpoint = (...args: string[]) => runCommand('setpoint', args, serviceEnvironment(folders()));
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(setpoint('--version')).toMatchObject({ status: 0, stdout: `${version}\n` });
  expect(setpoint('nonsense').status).toBe(2);
});

describe.each(engines)('[platform §7] command line, with its data on %s', (engine) => {
  let of: TestFolders;
  let storage: SiteStorage;
  beforeEach(async () => {
    ({ of, storage } = await storedOn(engine));
  });
  const setpoint = (...args: string[]) => runCommand('setpoint', args, serviceEnvironment(of, storage.env));
  const begin = async (): Promise<TestService> => {
    const service = await start(of, storage.env);
    await rulesRun(service);
    return service;
  };

  test('token: works against the service, is audited, and lives at most 30 days', async () => {
    expect(setpoint('token', '--role', 'Viewer', '--subject', 'ada').stderr).toMatch(/no data dir/);
    const service = await begin();
    const issued = setpoint('token', '--role', 'Viewer', '--subject', 'ada', '--ttl', '30d');
    expect(issued.status, issued.stderr).toBe(0);
    const token = issued.stdout.trim();
    expect((await service.request('GET', '/api/v1/automation/api/rules', { token })).status).toBe(200);
    expect((await service.request('POST', '/api/v1/automation/api/rules', { token })).status).toBe(403);
    expect(setpoint('token', '--role', 'Viewer', '--subject', 'ada', '--ttl', '31d').status).toBe(2);
    expect(setpoint('token', '--role', 'viewer', '--subject', 'ada').status).toBe(2);
    const database = openDatabase(storage.site);
    const events = await database.query
      .selectFrom('audit_event')
      .selectAll()
      .where('action', '=', 'identity.token.issue')
      .execute();
    await database.close();
    expect(events).toMatchObject([{ subject_kind: 'system', outcome: 'succeeded' }]);
  });

  test('rules import: explains and exits 2 without --confirmed, imports disabled with new ids, takes effect at the next reload', async () => {
    const service = await begin();
    const existing = await addRule(service, 'existing', { flow_json: editorFlow() });
    await service.command('POST', `/rules/${existing}/enable`);
    const compact = (await service.read(`/rules/${existing}`)).body['data']?.['nodes_json'];
    const file = {
      schema: 'svc.rules.v1',
      rules: [
        {
          name: 'imported',
          description: null,
          priority: 3,
          cooldown_ms: 5,
          trigger_config: { type: 'interval', interval_ms: 200 },
          flow_json: editorFlow(),
        },
        { name: 'legacy', nodes_json: compact },
      ],
    };
    const path = join(of.config, 'rules.json');
    writeFileSync(path, JSON.stringify(file));
    const explained = setpoint('rules', 'import', path);
    expect(explained).toMatchObject({ status: 2, stdout: '' });
    expect(explained.stderr).toContain('imported');
    expect((await service.read('/rules')).body['data']).toMatchObject({ total: 1 });

    const imported = setpoint('rules', 'import', path, '--confirmed', '--json');
    expect(imported.status, imported.stderr).toBe(0);
    const report = JSON.parse(imported.stdout) as { created: { id: number }[]; updated: unknown[] };
    expect(report.updated).toEqual([]);
    // The record names the person: all commands have the same subject.
    expect(setpoint('audit', 'export').stdout).toMatch(
      /"automation\.rule\.import".*\\"os_user\\":\\".* \(uid \d+\)\\"/,
    );
    const [first, legacy] = report.created.map(({ id }) => id);
    expect(first).toBeGreaterThan(existing);
    expect((await service.read(`/rules/${first}`)).body['data']).toMatchObject({
      name: 'imported',
      enabled: false,
      priority: 3,
      cooldown_ms: 5,
      flow_json: editorFlow(),
    });
    expect((await service.read(`/rules/${legacy}`)).body['data']).toMatchObject({
      flow_json: null,
      nodes_json: compact,
    });
    // Stored, not loaded: the engine learns of them at the next reload. On a server it checks for changes by itself.
    if (engine === 'sqlite') expect((await service.read(`/rules/${first}/status`)).status).toBe(503);
    await service.command('POST', '/scheduler/reload');
    expect((await service.read(`/rules/${first}/status`)).body['data']).toMatchObject({
      state: 'disabled',
      runnable: true,
    });
    expect((await service.read(`/rules/${legacy}/status`)).body['data']).toMatchObject({ runnable: true });

    const matched = setpoint('rules', 'import', path, '--confirmed', '--match', 'name', '--json');
    expect(JSON.parse(matched.stdout)).toMatchObject({ created: [], updated: [{ id: first }, { id: legacy }] });
    // Whatever a file does not mention stays unchanged.
    const part = join(of.config, 'part.json');
    writeFileSync(part, JSON.stringify({ schema: 'svc.rules.v1', rules: [{ name: 'imported', priority: 9 }] }));
    expect(setpoint('rules', 'import', part, '--confirmed', '--match', 'name').status).toBe(0);
    expect((await service.read(`/rules/${first}`)).body['data']).toMatchObject({
      priority: 9,
      cooldown_ms: 5,
      trigger_config: { type: 'interval', interval_ms: 200 },
      flow_json: editorFlow(),
    });
    const exported = setpoint('rules', 'export');
    expect((JSON.parse(exported.stdout) as { rules: unknown[] }).rules).toHaveLength(3);
    expect(existsSync(path)).toBe(true);
    writeFileSync(path, exported.stdout);
    expect(setpoint('rules', 'import', path, '--confirmed', '--match', 'name').status).toBe(0);
    // Two rules with one name: which is meant is unknown, and nothing is stored.
    await service.command('POST', '/rules', { name: 'imported' });
    const ambiguous = setpoint('rules', 'import', path, '--confirmed', '--match', 'name');
    expect([ambiguous.status, ambiguous.stderr]).toEqual([1, expect.stringContaining('2 rules are named "imported"')]);
    const database = openDatabase(storage.site);
    const events = await database.query
      .selectFrom('audit_event')
      .selectAll()
      .where('action', '=', 'automation.rule.import')
      .execute();
    await database.close();
    expect(events).toHaveLength(4);
    expect(events[0]).toMatchObject({ subject_kind: 'system', outcome: 'succeeded', confirmation: 'explicit' });
  });

  test('rules import: one bad rule stores nothing, and every problem is named', async () => {
    const service = await begin();
    const path = join(of.config, 'bad.json');
    const rules = [
      { name: 'good', flow_json: editorFlow() },
      { name: 'bad flow', flow_json: editorFlow('x >') },
      { name: 'bad trigger', trigger_config: { type: 'never' } },
      { name: 'two flows', flow_json: editorFlow(), nodes_json: { start_node: 's', nodes: {} } },
    ];
    writeFileSync(path, JSON.stringify({ schema: 'svc.rules.v1', rules }));
    const refused = setpoint('rules', 'import', path, '--confirmed');
    expect(refused.status).toBe(1);
    for (const name of ['bad flow', 'bad trigger', 'two flows']) expect(refused.stderr).toContain(`(${name})`);
    expect((await service.read('/rules')).body['data']).toMatchObject({ total: 0 });
    writeFileSync(path, JSON.stringify({ schema: 'svc.rules.v2', rules: [] }));
    expect(setpoint('rules', 'import', path, '--confirmed').stderr).toMatch(/bad\.json: \/schema/);
    writeFileSync(path, '{"schema":"svc.rules.v1","rules":[],"rules":[]}');
    expect(setpoint('rules', 'import', path, '--confirmed').stderr).toMatch(/twice/);
  });
});
