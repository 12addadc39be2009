/** Tests of rules over HTTP and by the command line [rules §11]. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { engines } from '../../src/testing/engines.ts';
import {
  editorFlow,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestFolders,
  type TestService,
  testFolders,
  virtualSite,
} from './running-service.ts';
import { type SiteStorage, storageOn } from './storage-on.ts';

const level = (value: number | null) => [{ instance: 1, point_type: 'measurement', point: 1, value }];
const fills = {
  name: 'fills',
  given: level(12),
  then: {
    outcome: 'acted',
    writes: [{ instance: 1, point: 1, value: 5 }],
    output: { node_id: 'decide', name: 'high' },
  },
};
const points = (length: number, more: object = {}) =>
  Array.from({ length }, (_, point) => ({ instance: 0, point, value: 1, ...more }));
const waits = { name: 'waits', given: level(9), then: { outcome: 'no_action', writes: [] } };

describe.each(engines)('tests of rules on %s', (engine) => {
  let folders: TestFolders;
  let storage: SiteStorage;
  let service: TestService;
  beforeEach(async () => {
    folders = testFolders(virtualSite);
    storage = await storageOn(engine, folders);
  });
  afterEach(async () => {
    await service.stop();
    await storage.remove();
    folders.remove();
  });
  const start = async (): Promise<number> => {
    service = await startTestService(folders, storage.env);
    return Number((await service.command('POST', '/rules', { name: 'r' })).body['data']?.['id']);
  };
  /** Beside the schema of the test's own. */
  const requireTests = (): void =>
    appendFileSync(join(folders.config, 'service.yaml'), 'rules: { require_tests: true }\n');
  const put = (id: number, body: Readonly<Record<string, unknown>>) => service.command('PUT', `/rules/${id}`, body);

  test('they are stored, cause warnings when they fail, and are restored with a revision', async () => {
    const id = await start();
    const stored = await put(id, { flow_json: editorFlow(), tests: [fills, waits] });
    expect(stored.body['data']).toMatchObject({ status: 'updated', warnings: [] });
    expect((await service.read(`/rules/${id}`)).body['data']).toMatchObject({ tests: [fills, waits] });
    const changed = await put(id, { flow_json: editorFlow('x > 12') });
    expect(changed.body['data']?.['warnings']).toMatchObject([
      {
        code: 'test-failed',
        path: '/tests/0',
        message:
          'the test "fills" fails: /then/outcome is "no_action" instead of "acted"; /then/writes (1:1) is null instead of 5; /then/output (decide) is "else" instead of "high"',
      },
    ]);
    expect((await put(id, { tests: [] })).status).toBe(200);
    expect((await service.read(`/rules/${id}/diff?from=3&to=4`)).body['data']).toMatchObject({
      classes: ['settings'],
      settings: [{ field: 'tests', before: [fills, waits], after: [] }],
    });
    const draft = await service.request('POST', `/api/v1/automation/api/rules/${id}/diff`, {
      body: { tests: [waits] },
    });
    expect(draft.body['data']).toMatchObject({ settings: [{ field: 'tests', before: [], after: [waits] }] });
    const restored = await service.command('POST', `/rules/${id}/restore`, { revision: 3 });
    expect(restored.body['data']?.['warnings']).toMatchObject([{ code: 'test-failed' }]);
    expect((await service.read(`/rules/${id}`)).body['data']).toMatchObject({ tests: [fills, waits] });
    // One test's windows do not carry over to the next.
    const averages = [12, 30].map((value) => ({
      name: `average of ${value}`,
      given: level(value),
      then: { writes: [{ instance: 1, point: 1, value }] },
    }));
    const averaged = await put(id, { flow_json: editorFlow('x > 10', 'moving_avg(x, 60)'), tests: averages });
    expect(averaged.body['data']).toMatchObject({ warnings: [] });
    const refused: readonly [Readonly<Record<string, unknown>>, RegExp][] = [
      [{ tests: [waits, waits] }, /\/tests\/1\/name: another test of the rule has the name ..?waits/],
      [{ tests: [{ ...waits, then: {} }] }, /\/tests\/0\/then/],
      [
        { tests: [{ ...waits, given: [...level(1), ...level(2)] }] },
        /\/tests\/0\/given\/1: names a point that the list has/,
      ],
      [
        { tests: [{ ...waits, then: { writes: [...fills.then.writes, ...fills.then.writes] } }] },
        /\/tests\/0\/then\/writes\/1: names a point/,
      ],
      [{ tests: [{ ...waits, given: points(1001) }] }, /\/tests\/0\/given/],
      [{ tests: [{ ...waits, then: { writes: points(1001) } }] }, /\/tests\/0\/then\/writes/],
      [{ tests: Array.from({ length: 101 }, (_, index) => ({ ...waits, name: String(index) })) }, /\/tests/],
    ];
    for (const [body, message] of refused) {
      const answer = await put(id, body);
      expect([answer.status, answer.text]).toEqual([400, expect.stringMatching(message)]);
    }
    // The maximum number is accepted, and all fail: the site does not have those points.
    const full = { name: 'full', given: points(1000, { point_type: 'measurement' }), then: { writes: points(1000) } };
    const unknown = await put(id, { tests: [full] });
    expect(unknown.body['data']?.['warnings']).toMatchObject([
      {
        message: expect.stringMatching(
          /^the test "full" fails: \/given\/0 is "measurement 0 of instance 0".*and 997 more$/,
        ),
      },
    ]);
    const most = Array.from({ length: 100 }, (_, index) => ({ ...waits, name: String(index) }));
    expect((await put(id, { tests: most })).status).toBe(200);
  });

  test('a site that requires them stores and enables no rule without passing ones', async () => {
    requireTests();
    const id = await start();
    const faults = async (body: Readonly<Record<string, unknown>>, code = 'tests-failed') => {
      const answer = await put(id, body);
      expect([answer.status, answer.text]).toEqual([422, expect.stringContaining(code)]);
    };
    await faults({ flow_json: editorFlow() });
    await faults({ flow_json: editorFlow(), tests: [{ ...fills, given: level(1) }, waits] });
    expect((await service.read(`/rules/${id}`)).body['data']).toMatchObject({ revision: 1, tests: [] });
    expect((await put(id, { flow_json: editorFlow(), tests: [fills, waits] })).status).toBe(200);
    await faults({ tests: [] });
    // Each change alone would pass against what was stored before; together only one can be stored.
    for (let round = 0; round < 10; round++) {
      await put(id, { flow_json: editorFlow(), tests: [fills] });
      await Promise.all([
        put(id, { flow_json: editorFlow('x > 12'), tests: [{ ...fills, given: level(13) }] }),
        put(id, { tests: [{ ...fills, given: level(11) }] }),
      ]);
      const run = await service.request('POST', '/api/v1/automation/api/rules/test', { body: { rule_id: id } });
      expect(run.body['data']).toMatchObject({ passed: 1, failed: 0 });
    }
    expect((await service.command('POST', `/rules/${id}/enable`)).status).toBe(200);
  });

  test('a site that requires them applies no plan with a rule without passing ones, and removes rules all the same', async () => {
    requireTests();
    await start();
    const fileRule = (key: string, tests: readonly object[]) => ({ key, name: key, flow_json: editorFlow(), tests });
    const apply = async (rules: readonly object[]) => {
      const planned = await service.request('POST', '/api/v1/automation/api/rules/plan', { body: { rules } });
      const digest = planned.body['data']?.['digest'];
      return service.command('POST', '/rules/apply', { rules, digest });
    };
    const tested = fileRule('tested', [fills, waits]);
    for (const [tests, reason] of [
      [[], 'rule other: the rule has no tests'],
      [[{ ...fills, given: level(1) }], 'rule other: the test \\"fills\\" fails'],
    ] as const) {
      const refused = await apply([tested, fileRule('other', tests)]);
      expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(reason)]);
    }
    expect((await service.read('/rules')).body['data']).toMatchObject({ total: 1 });
    expect((await apply([tested, fileRule('other', [fills])])).status).toBe(200);
    expect((await service.read('/rules')).body['data']).toMatchObject({ total: 3 });
    expect((await apply([tested])).body['data']).toMatchObject({ applied: [{ key: 'other', action: 'delete' }, {}] });
  });

  test('drafts and files are tested without being stored', async () => {
    const id = await start();
    await put(id, { flow_json: editorFlow(), tests: [fills] });
    const env = {
      ...serviceEnvironment(folders),
      SVC_BASE_URL: service.base,
      SVC_ACCESS_TOKEN: await service.token('Viewer'),
    };
    const setpoint = (...args: string[]) => runCommand('setpoint', ['rules', 'test', ...args], env);
    expect(setpoint('--all')).toMatchObject({ status: 0, stdout: `${id} r\n  passed fills\n` });
    const file = join(folders.config, 'rules.json');
    const rule = { name: 'in a file', flow_json: editorFlow('x > 12'), tests: [fills] };
    writeFileSync(file, JSON.stringify({ schema: 'svc.rules.v1', rules: [{ name: 'stub', nodes_json: {} }, rule] }));
    const failed = setpoint(file);
    expect([failed.status, failed.stdout]).toEqual([
      1,
      [
        'in a file',
        '  failed fills',
        '         /then/outcome: expected "acted", got "no_action"',
        '         /then/writes (1:1): expected 5, got null',
        '         /then/output (decide): expected "high", got "else"',
        '',
      ].join('\n'),
    ]);
    expect(failed.stderr).toContain('1 test fails');
    expect(setpoint('--rule', '1', '--all').stderr).toContain('give one of a file, --all and --rule');
    expect((await service.read(`/rules/${id}`)).body['data']).toMatchObject({ revision: 2 });
  });
});
