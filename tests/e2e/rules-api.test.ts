/** Area A from outside: each route's success, each refusal, and that a refusal changes nothing [rules §2]. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/databases/site-database.ts';
import { signingKey } from '../../src/gateway/local-keys.ts';
import { engines } from '../../src/testing/engines.ts';
import {
  editorFlow,
  feedFlow,
  type Reply,
  startTestService,
  type TestService,
  testFolders,
  virtualSite,
  waitFor,
} from './running-service.ts';
import { rulesRun, type SiteStorage, storageOn } from './storage-on.ts';

const api = '/api/v1/automation/api';
let service: TestService;
let storage: SiteStorage;

/** A rule with a flow, disabled. */
async function newRule(name: string, more: Readonly<Record<string, unknown>> = {}): Promise<number> {
  const created = await service.command('POST', '/rules', { name });
  expect(created.status, created.text).toBe(200);
  const id = Number(created.body['data']?.['id']);
  const updated = await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow(), ...more });
  expect(updated.status, updated.text).toBe(200);
  return id;
}
async function feed(value: number): Promise<void> {
  const id = await newRule(`feed ${value}`, { flow_json: feedFlow(value) });
  const fed = await service.command('POST', `/rules/${id}/execute`);
  expect(fed.body['data']?.['outcome']).toBe('acted');
  await waitFor(async () => {
    const [level] = await service
      .read(`/rules/${await readerRule()}/variables`)
      .then((reply) => list(reply, 'variables'));
    return level?.['value'] === (value as unknown) ? true : undefined;
  });
  await service.command('DELETE', `/rules/${id}`);
}
let reader = 0;
async function readerRule(): Promise<number> {
  if (reader === 0) reader = await newRule('reader');
  return reader;
}
const list = (reply: Reply, name: string): readonly Record<string, unknown>[] =>
  reply.body['data']?.[name] as unknown as readonly Record<string, unknown>[];

/** Everything that a refusal could have changed. */
async function state(): Promise<string> {
  const database = openDatabase(storage.site);
  try {
    const rules = await database.query.selectFrom('rules').selectAll().orderBy('id').execute();
    return JSON.stringify(rules);
  } finally {
    await database.close();
  }
}
async function lastAudit(): Promise<Record<string, unknown>> {
  const database = openDatabase(storage.site);
  try {
    return await database.query
      .selectFrom('audit_event')
      .selectAll()
      .orderBy('sequence', 'desc')
      .executeTakeFirstOrThrow();
  } finally {
    await database.close();
  }
}

/** The readable paths, with one rule. */
const readPaths = (id: number): string[] => [
  '/rules',
  `/rules/${id}`,
  `/rules/${id}/variables`,
  `/rules/${id}/status`,
  `/rules/${id}/history`,
  '/instances',
  '/scheduler/status',
];

describe.each(engines)('area A on %s', (engine) => {
  beforeAll(async () => {
    const folders = testFolders(virtualSite);
    storage = await storageOn(engine, folders);
    service = await startTestService(folders, storage.env);
    reader = 0;
    await rulesRun(service);
  });
  afterAll(async () => {
    await service.stop();
    await storage.remove();
    service.folders.remove();
  });

  describe('[rules §2] each route succeeds', () => {
    test('[rules §1.2], [rules §2.3] create is a disabled stub with exactly {id, name, status}', async () => {
      const reply = await service.command('POST', '/rules', { name: '  Peak shaving  ', description: 'd' });
      const id = reply.body['data']?.['id'];
      expect(reply.body).toEqual({ success: true, data: { id, name: 'Peak shaving', status: 'created' } });
      expect([reply.headers.get('etag'), reply.headers.get('x-svc-audit')]).toEqual(['"1"', 'recorded']);
      expect(reply.headers.get('cache-control')).toBe('no-store');
      const read = await service.read(`/rules/${String(id)}`);
      expect(read.body['data']).toMatchObject({
        id,
        name: 'Peak shaving',
        description: 'd',
        enabled: false,
        priority: 0,
        cooldown_ms: 0,
        trigger_config: null,
        flow_json: null,
        nodes_json: {},
        revision: 1,
      });
      expect(await lastAudit()).toMatchObject({
        action: 'automation.rule.create',
        outcome: 'succeeded',
        resource_id: `automation-rule:${String(id)}`,
      });
    });

    test('[rules §1.3] update stores both flow columns; the same document gives the same bytes', async () => {
      const [first, second] = [await newRule('same 1'), await newRule('same 2')];
      const read = await service.read(`/rules/${first}`);
      expect(read.headers.get('etag')).toBe('"2"');
      expect(read.body['data']).toMatchObject({
        flow_json: editorFlow(),
        revision: 2,
        nodes_json: { start_node: 'start' },
      });
      const rows = JSON.parse(await state()) as { id: number; nodes_json: string; flow_json: string }[];
      const [a, b] = [first, second].map((id) => rows.find((row) => row.id === id));
      expect(a?.nodes_json).toBe(b?.nodes_json);
      expect(a?.flow_json).toBe(b?.flow_json);
      // As text: parsing the answer in JavaScript would round ids that look like integers.
      const shown = (text: string): string => text.slice(text.indexOf('"nodes_json"'), text.indexOf('"revision"'));
      expect(shown(read.text)).toBe(`"nodes_json":${String(a?.nodes_json)},`);
      const cleared = await service.command('PUT', `/rules/${first}`, {
        description: null,
        trigger_config: null,
        priority: 4_294_967_295,
      });
      expect(cleared.body).toEqual({ success: true, data: { id: first, status: 'updated', warnings: [] } });
      expect((await service.read(`/rules/${first}`)).body['data']).toMatchObject({
        description: null,
        priority: 4_294_967_295,
        flow_json: editorFlow(),
      });
    });

    test('list: pages, filters, search, status, order', async () => {
      const low = await newRule('listed low');
      const high = await newRule('listed high', { priority: 7 });
      const all = await service.read('/rules?search=listed&include=status&page_size=1');
      expect(all.body['data']).toMatchObject({
        total: 2,
        page: 1,
        page_size: 1,
        total_pages: 2,
        has_next: true,
        has_previous: false,
      });
      const [summary] = list(all, 'list');
      expect(Object.keys(summary ?? {})).toEqual(['id', 'name', 'enabled', 'mode', 'description', 'key', 'status']);
      expect(summary).toMatchObject({ id: high, status: { rule_id: high, state: 'disabled' } });
      const second = await service.read('/rules?search=LISTED&page=2&page_size=1');
      expect(list(second, 'list')).toEqual([
        { id: low, name: 'listed low', enabled: false, mode: 'live', description: null, key: null },
      ]);
      expect(second.body['data']).toMatchObject({ has_next: false, has_previous: true });
      expect(list(await service.read('/rules?search=listed&enabled=true'), 'list')).toEqual([]);
      expect((await service.read('/rules')).body['data']).toMatchObject({ page_size: 20 });
    });

    test('[rules §1.2] enable, run, explain, history, log, disable, delete', async () => {
      await feed(20);
      const id = await newRule('runs', { cooldown_ms: 60_000, trigger_config: { type: 'interval', interval_ms: 100 } });
      expect((await service.command('POST', `/rules/${id}/enable`)).body).toEqual({
        success: true,
        data: { id, status: 'enabled' },
      });
      const run = await waitFor(async () => list(await service.read(`/rules/${id}/history`), 'list')[0]);
      expect(run).toMatchObject({
        rule_id: id,
        trigger: { type: 'interval' },
        outcome: 'acted',
        success: true,
        error: null,
        matched_condition: 'high',
        variable_values: { x: 20 },
        actions_executed: [{ node_id: 'act', instance: 1, point: 1, value: 5, success: true }],
        execution_path: ['start', 'read', 'decide', 'act', 'end'],
      });
      const status = await service.read(`/rules/${id}/status`);
      expect(status.body['data']).toMatchObject({
        rule_id: id,
        enabled: true,
        runnable: true,
        state: 'cooldown',
        last_run: { execution_id: run['execution_id'], outcome: 'acted' },
      });
      expect(status.body['data']?.['cooldown_until']).toMatch(/^\d{4}-.*Z$/);
      const log = join(service.folders.data, 'logs', 'rules', `${id}.log`);
      const line = await waitFor(() => (existsSync(log) ? /^(.*)\n/.exec(readFileSync(log, 'utf8'))?.[1] : undefined));
      expect(JSON.parse(line)).toEqual(run);
      expect((await service.command('POST', `/rules/${id}/disable`)).body['data']).toEqual({ id, status: 'disabled' });
      expect((await service.read(`/rules/${id}/status`)).body['data']).toMatchObject({ state: 'disabled' });
      expect((await service.command('DELETE', `/rules/${id}`)).body).toEqual({
        success: true,
        data: { id, status: 'deleted' },
      });
      expect((await service.read(`/rules/${id}`)).status).toBe(404);
      // [rules §1.1]: DELETE can be confirmed by query too, and ids are never reused.
      const next = await newRule('next');
      expect(next).toBe(id + 1);
      const deleted = await service.request('DELETE', `${api}/rules/${next}?confirmed=true`, {
        headers: { 'x-svc-confirmed': 'true' },
      });
      expect(deleted.status, deleted.text).toBe(200);
      expect(await newRule('after')).toBe(id + 2);
    });

    test('enable of a stub succeeds with a warning, is counted, and leaves the others running', async () => {
      const stub = Number((await service.command('POST', '/rules', { name: 'stub' })).body['data']?.['id']);
      const enabled = await service.command('POST', `/rules/${stub}/enable`);
      expect(enabled.body['data']).toMatchObject({
        id: stub,
        status: 'enabled',
        warnings: [{ code: 'no-runnable-flow' }],
      });
      const reloaded = await service.command('POST', '/scheduler/reload');
      expect(reloaded.body['data']?.['rules_failed']).toEqual([{ id: stub, code: 'no-runnable-flow' }]);
      const status = await service.read('/scheduler/status');
      expect(status.body['data']).toMatchObject({ running: true, tick_interval_ms: 100, rules_failed: [{ id: stub }] });
      await service.command('DELETE', `/rules/${stub}`);
    });

    test('[rules §2.5] execute works on a disabled rule, carries the correlation id, and answers 200 when nothing matched', async () => {
      await feed(20);
      const id = await newRule('by hand');
      const options = {
        body: { confirmed: true },
        headers: { 'x-svc-confirmed': 'true', 'x-correlation-id': 'walk-through-1' },
      };
      const acted = await service.request('POST', `${api}/rules/${id}/execute`, options);
      expect(acted.headers.get('x-correlation-id')).toBe('walk-through-1');
      expect(acted.body['data']).toMatchObject({
        rule_id: id,
        outcome: 'acted',
        actions_attempted: 1,
        actions_succeeded: 1,
        execution: { trigger: { type: 'manual' }, correlation_id: 'walk-through-1' },
      });
      expect(await lastAudit()).toMatchObject({
        action: 'automation.rule.execute',
        outcome: 'succeeded',
        correlation_id: 'walk-through-1',
      });
      expect(list(await service.read(`/rules/${id}/history`), 'list')).toEqual([acted.body['data']?.['execution']]);
      await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow('x > 1000') });
      expect((await service.command('POST', `/rules/${id}/execute`)).body['data']).toMatchObject({
        outcome: 'no_action',
        actions_attempted: 0,
      });
      // An action that fails is an outcome, not an error of the call.
      await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow('x > 10', 'x * 1000') });
      const failed = await service.command('POST', `/rules/${id}/execute`);
      expect([failed.status, failed.body['data']]).toMatchObject([
        200,
        {
          outcome: 'failed',
          actions_attempted: 1,
          actions_succeeded: 0,
          execution: { actions_executed: [{ reason: 'out-of-range' }] },
        },
      ]);
      // Newest first, paged by cursor.
      const page = await service.read(`/rules/${id}/history?limit=2`);
      expect(list(page, 'list').map((run) => run['outcome'])).toEqual(['failed', 'no_action']);
      const before = String(page.body['data']?.['next_before']);
      const older = await service.read(`/rules/${id}/history?limit=2&before=${before}`);
      expect(list(older, 'list').map((run) => run['outcome'])).toEqual(['acted']);
      expect(older.body['data']?.['next_before']).toBeNull();
    });

    test('a rule with an input that was never written is skipped and names it', async () => {
      const flow = JSON.parse(
        JSON.stringify(editorFlow()).replace('"point_type":"measurement","point":1', '"point_type":"action","point":2'),
      ) as Record<string, unknown>;
      const id = await newRule('missing', { flow_json: flow });
      const run = await service.command('POST', `/rules/${id}/execute`);
      expect(run.body['data']).toMatchObject({
        outcome: 'skipped',
        actions_attempted: 0,
        execution: { success: false, error: { code: 'missing-input', missing: ['x'] } },
      });
      const [variable] = list(await service.read(`/rules/${id}/variables`), 'variables');
      expect(variable).toEqual({
        name: 'x',
        node_ids: ['read'],
        instance: 1,
        point_type: 'action',
        point: 2,
        unit: '1',
        value: null,
        quality: 'missing',
        observed_at: null,
      });
    });

    test('the catalogue names instances, points and parameters, and no live value', async () => {
      const reply = await service.read('/instances');
      expect(reply.body['data']).toMatchObject({
        site: { id: 'plant-1', name: 'Plant 1' },
        timezone: 'Europe/Amsterdam',
        instances: [
          {
            id: 1,
            name: 'tank',
            points: [
              { id: 1, name: 'level', kind: 'measurement', writable: true },
              { id: 1, kind: 'action', min: 0, max: 100, step: 0.5 },
              {},
            ],
          },
        ],
        parameters: [{ name: 'limit', value: 10, unit: 'm' }],
      });
      expect(reply.text).not.toContain('"value":20');
    });

    test('a Viewer reads everything', async () => {
      const token = await service.token('Viewer');
      const id = await readerRule();
      for (const path of readPaths(id))
        expect([path, (await service.request('GET', `${api}${path}`, { token })).status]).toEqual([path, 200]);
    });

    test('[rules §2.7] reload re-reads the parameters; an invalid site file is 422 and changes nothing', async () => {
      const id = await newRule('parameter', {
        flow_json: JSON.parse(
          JSON.stringify(editorFlow('x > limit')).replace(
            '"variables":[',
            '"parameters":[{"name":"limit","parameter":"limit"}],"variables":[',
          ),
        ),
      });
      await feed(20);
      const outcome = async () => (await service.command('POST', `/rules/${id}/execute`)).body['data']?.['outcome'];
      expect(await outcome()).toBe('acted');
      service.folders.write('site.yaml', virtualSite.replace('value: 10', 'value: ten'));
      const refused = await service.command('POST', '/scheduler/reload');
      expect([refused.status, refused.body['error']?.['code']]).toEqual([422, 'invalid-site']);
      expect(refused.text).toMatch(/site\.yaml:4/);
      expect(await outcome()).toBe('acted');
      service.folders.write('site.yaml', virtualSite.replace('value: 10', 'value: 30'));
      // [rules §2.7]: the header suffices.
      const reloaded = await service.request('POST', `${api}/scheduler/reload`, {
        headers: { 'x-svc-confirmed': 'true' },
      });
      expect(reloaded.status, reloaded.text).toBe(200);
      expect(await outcome()).toBe('no_action');
      expect((await service.read('/instances')).body['data']).toMatchObject({ parameters: [{ value: 30 }] });
      service.folders.write('site.yaml', virtualSite);
      await service.command('POST', '/scheduler/reload');
    });

    test('warnings: two enabled rules write one point, a rule is triggered by its own write', async () => {
      const [first, second] = [await newRule('warned 1'), await newRule('warned 2')];
      expect((await service.command('POST', `/rules/${first}/enable`)).body['data']).toEqual({
        id: first,
        status: 'enabled',
      });
      const enabled = await service.command('POST', `/rules/${second}/enable`);
      expect(list(enabled, 'warnings')).toMatchObject([
        { code: 'shared-point', node_id: 'act', message: expect.stringContaining('"warned 1"') as string },
      ]);
      const onOwn = {
        type: 'on_change',
        point_refs: [{ instance: 1, point_type: 'action', point: 1 }],
        time_deadband_ms: 0,
        value_deadband: null,
      };
      const updated = await service.command('PUT', `/rules/${second}`, { trigger_config: onOwn });
      expect(list(updated, 'warnings').map((warning) => warning['code'])).toEqual([
        'subscribed-to-own-write',
        'shared-point',
      ]);
      await service.command('DELETE', `/rules/${first}`);
      await service.command('DELETE', `/rules/${second}`);
    });
  });

  describe('[rules §2], [identity §4], [platform §2.1] every refusal, and that it changed nothing', () => {
    let id = 0;
    let before = '';
    const confirmed = { 'x-svc-confirmed': 'true' };
    beforeAll(async () => {
      id = await newRule('refused', { trigger_config: { type: 'interval', interval_ms: 5000 } });
      before = await state();
    });
    const unchanged = async (): Promise<void> => expect(await state()).toBe(before);
    const mutations = (): [string, string, Record<string, unknown>][] => [
      ['POST', '/rules', { name: 'new' }],
      ['PUT', `/rules/${id}`, { name: 'renamed' }],
      ['DELETE', `/rules/${id}`, {}],
      ['POST', `/rules/${id}/enable`, {}],
      ['POST', `/rules/${id}/disable`, {}],
      ['POST', `/rules/${id}/execute`, {}],
    ];
    const expectRefusal = (reply: Reply, status: number, code: string): void => {
      expect([reply.status, reply.body['error']?.['code']], reply.text).toEqual([status, code]);
      expect(reply.body['error']?.['correlationId']).toBe(reply.headers.get('x-correlation-id'));
      expect(Object.keys(reply.body)).toEqual(['error']);
    };

    test('401: no token, a bad one, on every route', async () => {
      const reads: [string, string, Record<string, unknown>][] = readPaths(id).map((path) => ['GET', path, {}]);
      const texts = new Set<string>();
      for (const [method, path, body] of [...mutations(), ['POST', '/scheduler/reload', {}] as const, ...reads]) {
        for (const token of [null, 'bad', `${await service.token('Engineer')}x`]) {
          const options =
            method === 'GET' ? { token } : { token, headers: confirmed, body: { ...body, confirmed: true } };
          const reply = await service.request(method, `${api}${path}`, options);
          expectRefusal(reply, 401, 'unauthenticated');
          expect(reply.headers.get('www-authenticate')).toBe('Bearer');
          texts.add(String(reply.body['error']?.['message']));
        }
      }
      expect(texts.size).toBe(1);
      await unchanged();
    });

    test('403: a Viewer changes nothing; a token of another tenant reads nothing; both before the parameter check', async () => {
      const viewer = await service.token('Viewer');
      for (const [method, path] of [...mutations(), ['POST', '/scheduler/reload'] as const]) {
        const reply = await service.request(method, `${api}${path}`, { token: viewer, text: 'not json' });
        expectRefusal(reply, 403, 'permission-denied');
      }
      expect(await lastAudit()).toMatchObject({ outcome: 'denied', subject_id: 'tester' });
      const foreign = await new SignJWT({ role: 'Admin', tenant_id: 'other', project_id: 'other' })
        .setProtectedHeader({ alg: 'EdDSA' })
        .setSubject('stranger')
        .setExpirationTime('1h')
        .sign(signingKey(service.folders.data).privateKey);
      expectRefusal(await service.request('GET', `${api}/rules?page=x`, { token: foreign }), 403, 'permission-denied');
      await unchanged();
    });

    test('[rules §2.1]: 428: the header, the body flag, or both are missing; which one is said', async () => {
      for (const [method, path, body] of mutations()) {
        const noHeader = await service.request(method, `${api}${path}`, { body: { ...body, confirmed: true } });
        expectRefusal(noHeader, 428, 'confirmation-required');
        expect(String(noHeader.body['error']?.['message'])).toContain('x-svc-confirmed');
        const noFlag = await service.request(method, `${api}${path}`, { body, headers: confirmed });
        expectRefusal(noFlag, 428, 'confirmation-required');
        expect(String(noFlag.body['error']?.['message'])).toContain('body');
        expectRefusal(
          await service.request(method, `${api}${path}`, { body: { ...body, confirmed: false }, headers: confirmed }),
          428,
          'confirmation-required',
        );
      }
      expectRefusal(
        await service.request('POST', `${api}/scheduler/reload`, { headers: { 'x-svc-confirmed': 'false' } }),
        428,
        'confirmation-required',
      );
      await unchanged();
    });

    test.each<[string, Record<string, unknown>]>([
      ['an unknown field', { name: 'x', enabled: true }],
      ['no field', {}],
      ['only the expected revision', { expected_revision: 2 }],
      ['a blank name', { name: '   ' }],
      ['a long name', { name: 'x'.repeat(129) }],
      ['a long description', { description: 'x'.repeat(2001) }],
      ['a null name', { name: null }],
      ['a null flow', { flow_json: null }],
      ['a negative priority', { priority: -1 }],
      ['a priority above the limit', { priority: 4_294_967_296 }],
      ['a fraction as priority', { priority: 1.5 }],
      ['a priority as text', { priority: '1' }],
      ['a negative cooldown', { cooldown_ms: -1 }],
      ['a cooldown above 2^53-1', { cooldown_ms: 2 ** 53 }],
      ['a flow that is a list', { flow_json: [] }],
    ])('400: PUT with %s', async (_what, body) => {
      expectRefusal(await service.command('PUT', `/rules/${id}`, body), 400, 'invalid-input');
      await unchanged();
    });

    test('400: other malformed requests', async () => {
      const put = (text: string, headers: Record<string, string> = {}) =>
        service.request('PUT', `${api}/rules/${id}`, { text, headers: { ...confirmed, ...headers } });
      expectRefusal(await put('{"name":"a","name":"b","confirmed":true}'), 400, 'invalid-input');
      expectRefusal(await put('{"__proto__":{},"confirmed":true}'), 400, 'invalid-input');
      expectRefusal(await put('{"name":'), 400, 'invalid-input');
      expectRefusal(await put('{"name":"a","confirmed":true}', { 'if-match': 'W/"2"' }), 400, 'invalid-input');
      expectRefusal(
        await put('{"name":"a","confirmed":true,"expected_revision":1}', { 'if-match': '"2"' }),
        400,
        'invalid-input',
      );
      expectRefusal(await put('{"name":"a","confirmed":true}', { 'x-svc-confirmed': 'yes' }), 400, 'invalid-input');
      expectRefusal(await service.command('POST', '/rules', { name: 'a', priority: 1 }), 400, 'invalid-input');
      expectRefusal(await service.command('POST', '/rules', {}), 400, 'invalid-input');
      expectRefusal(await service.command('POST', `/rules/${id}/enable`, { extra: 1 }), 400, 'invalid-input');
      for (const query of [
        'page=0',
        'page=01',
        'page_size=0',
        'page_size=101',
        'page=1&page=2',
        'enabled=1',
        'include=all',
        'unknown=1',
        'access_token=x',
      ])
        expectRefusal(await service.read(`/rules?${query}`), 400, 'invalid-input');
      for (const query of ['limit=0', 'limit=101', 'limit=+5', 'before=7'])
        expectRefusal(await service.read(`/rules/${id}/history?${query}`), 400, 'invalid-input');
      for (const path of ['/rules/0', '/rules/01', '/rules/x', '/rules/1.5'])
        expectRefusal(await service.read(path), 400, 'invalid-input');
      await unchanged();
    });

    test('404: unknown rule, path and method', async () => {
      for (const path of ['', '/variables', '/status', '/history'])
        expectRefusal(await service.read(`/rules/999999${path}`), 404, 'not-found');
      expectRefusal(await service.command('PUT', '/rules/999999', { name: 'x' }), 404, 'not-found');
      expectRefusal(await service.command('DELETE', '/rules/999999'), 404, 'not-found');
      for (const verb of ['enable', 'disable', 'execute'])
        expectRefusal(await service.command('POST', `/rules/999999/${verb}`), 404, 'not-found');
      expectRefusal(await service.read('/nothing'), 404, 'not-found');
      expectRefusal(await service.request('PATCH', `${api}/rules/${id}`, { body: {} }), 404, 'not-found');
      await unchanged();
    });

    test('409: a stale revision, by body and by header', async () => {
      expectRefusal(
        await service.command('PUT', `/rules/${id}`, { name: 'x', expected_revision: 1 }),
        409,
        'revision-conflict',
      );
      const byHeader = await service.request('PUT', `${api}/rules/${id}`, {
        body: { name: 'x', confirmed: true },
        headers: { ...confirmed, 'if-match': '"1"' },
      });
      expectRefusal(byHeader, 409, 'revision-conflict');
      await unchanged();
    });

    test('409: a stale If-Match is never passed over: enable, disable and delete honour it too', async () => {
      const send = (method: string, path: string, ifMatch: string) =>
        service.request(method, `${api}/rules/${path}`, {
          body: { confirmed: true },
          headers: { 'x-svc-confirmed': 'true', 'if-match': ifMatch },
        });
      const other = await newRule('preconditions');
      const before = await state();
      for (const [method, path] of [
        ['POST', `${other}/enable`],
        ['POST', `${other}/disable`],
        ['DELETE', `${other}`],
      ] as const) {
        expectRefusal(await send(method, path, '"1"'), 409, 'revision-conflict');
        expectRefusal(await send(method, path, '"x"'), 400, 'invalid-input');
      }
      expect(await state()).toBe(before);
      expect((await send('POST', `${other}/enable`, '"2"')).headers.get('etag')).toBe('"3"');
      expect((await send('DELETE', `${other}`, '"3"')).status).toBe(200);
    });

    test('413 and 415: a body over 1 MiB, a body that is not JSON', async () => {
      const big = await service.request('PUT', `${api}/rules/${id}`, {
        body: { description: 'x'.repeat(1_048_576), confirmed: true },
        headers: confirmed,
      });
      expectRefusal(big, 413, 'payload-too-large');
      const text = await service.request('PUT', `${api}/rules/${id}`, {
        text: '{"name":"x","confirmed":true}',
        headers: { ...confirmed, 'content-type': 'text/plain' },
      });
      expectRefusal(text, 415, 'unsupported-media-type');
      await unchanged();
    });

    test('[rules §1.2], [rules §2.3]: 422: an invalid flow and an invalid trigger, all issues at once, nothing stored', async () => {
      const flow = editorFlow('x > unknown_name', 5000);
      const trigger = { type: 'interval', interval_ms: 0, extra: 1 };
      const both = await service.command('PUT', `/rules/${id}`, {
        name: 'new name',
        flow_json: flow,
        trigger_config: trigger,
      });
      expectRefusal(both, 422, 'invalid-flow');
      const issues = both.body['error']?.['details']?.['issues'] as unknown as {
        code: string;
        path: string;
        node_id?: string;
        message: string;
      }[];
      expect(issues.length).toBeGreaterThanOrEqual(4);
      expect(new Set(issues.map((issue) => issue.node_id))).toEqual(new Set(['decide', 'act', undefined]));
      expect(issues.every((issue) => /^\/(flow_json|trigger_config)/.test(issue.path))).toBe(true);
      expectRefusal(
        await service.command('PUT', `/rules/${id}`, { name: 'new name', trigger_config: trigger }),
        422,
        'invalid-trigger',
      );
      expectRefusal(await service.command('PUT', `/rules/${id}`, { flow_json: {} }), 422, 'invalid-flow');
      const stub = Number((await service.command('POST', '/rules', { name: 'stub' })).body['data']?.['id']);
      expectRefusal(await service.command('POST', `/rules/${stub}/execute`), 422, 'no-runnable-flow');
      await service.command('DELETE', `/rules/${stub}`);
      await unchanged();
    });
  });
});
