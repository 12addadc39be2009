/** Rules as files [rules §12]: pull, plan and apply by the program, on both engines. */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { engines } from '../../src/testing/engines.ts';
import {
  editorFlow,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestService,
  testFolders,
  virtualSite,
} from './running-service.ts';
import { type SiteStorage, storageOn } from './storage-on.ts';

const trigger = { type: 'interval', interval_ms: 1000 };
const tests = [
  {
    name: 'high',
    given: [{ instance: 1, point_type: 'measurement', point: 1, value: 20 }],
    then: { outcome: 'acted', writes: [{ instance: 1, point: 1, value: 5 }] },
  },
];

describe.each(engines)('rules as files on %s', (engine) => {
  let service: TestService;
  let storage: SiteStorage;
  const folders: string[] = [];
  beforeAll(async () => {
    const of = testFolders(virtualSite);
    storage = await storageOn(engine, of);
    service = await startTestService(of, storage.env);
  });
  afterAll(async () => {
    await service.stop();
    await storage.remove();
    service.folders.remove();
    for (const folder of folders) rmSync(folder, { recursive: true });
  });

  const setpoint = async (...args: string[]) =>
    runCommand('setpoint', args, {
      ...serviceEnvironment(service.folders),
      SVC_BASE_URL: service.base,
      SVC_ACCESS_TOKEN: await service.token('Admin'),
    });
  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'rules-'));
    folders.push(folder);
    return folder;
  };
  const made = async (key: string): Promise<number> => {
    const id = Number((await service.command('POST', '/rules', { name: `Rule ${key}`, key })).body['data']?.['id']);
    const put = await service.command('PUT', `/rules/${id}`, {
      flow_json: editorFlow(),
      trigger_config: trigger,
      priority: 3,
      tests,
    });
    expect(put.status, put.text).toBe(200);
    return id;
  };
  const ruleOf = async (id: number) => (await service.read(`/rules/${id}`)).body['data'] ?? {};
  const edit = (folder: string, key: string, change: (text: string) => string): void => {
    const file = join(folder, `${key}.rule.yaml`);
    writeFileSync(file, change(readFileSync(file, 'utf8')));
  };

  test('[rules §12.1] a key is set once, is unique, and is restored with a deleted rule', async () => {
    const id = await made('once');
    const refusal = async (body: Readonly<Record<string, unknown>>, path = `/rules/${id}`) => {
      const { status, body: answer } = await service.command('PUT', path, body);
      return [status, answer['error']?.['message']];
    };
    expect(await refusal({ key: 'twice' })).toEqual([
      400,
      `body /key: rule ${id} has the key "once", which never changes`,
    ]);
    expect((await refusal({ key: 'once' }))[0]).toBe(200);
    const other = Number((await service.command('POST', '/rules', { name: 'other' })).body['data']?.['id']);
    expect(await refusal({ key: 'once' }, `/rules/${other}`)).toEqual([
      400,
      `body /key: rule ${id} has the key "once"`,
    ]);
    for (const key of ['', 'A', '-a', 'a'.repeat(65)]) expect((await refusal({ key }, `/rules/${other}`))[0]).toBe(400);
    expect((await refusal({ key: 'a'.repeat(64) }, `/rules/${other}`))[0]).toBe(200);
    const { revision } = await ruleOf(id);
    await service.command('DELETE', `/rules/${id}`);
    await service.command('POST', `/rules/${id}/restore`, { revision });
    expect(await ruleOf(id)).toMatchObject({ key: 'once', applied_revision: null });
    const copy = await service.command('POST', `/rules/${id}/duplicate`, { name: 'copy' });
    expect(await ruleOf(Number(copy.body['data']?.['id']))).toMatchObject({ key: null });
    for (const gone of [id, other]) await service.command('DELETE', `/rules/${gone}`);
    const pulled = await setpoint('pull', newFolder());
    expect([pulled.status, pulled.stdout]).toEqual([0, 'no rule has a key: there are no files to write\n']);
    expect(pulled.stderr).toContain('has no key and was left out');
  });

  test('[rules §12.3] a pulled folder changes nothing, a change is applied as planned, and the next plan is empty', async () => {
    const id = await made('pump');
    const folder = newFolder();
    const pulled = await setpoint('pull', folder);
    expect(pulled.status, pulled.stderr).toBe(0);
    expect(readdirSync(folder).toSorted()).toEqual(['pump.layout.json', 'pump.rule.yaml']);
    expect(await setpoint('pull', folder)).toMatchObject({ status: 0, stdout: 'every file is up to date\n' });
    expect(await setpoint('plan', folder)).toMatchObject({ status: 0, stdout: expect.stringContaining('1 unchanged') });

    const place = join(folder, 'plan.json');
    edit(folder, 'pump', (text) => text.replace('x > 10', 'x > 15').replace('priority: 3', 'priority: 4'));
    writeFileSync(
      join(folder, 'lamp.rule.yaml'),
      'schema: svc.rule.v1\nname: Lamp\nflow:\n  nodes:\n    - { id: s, type: start, data: { config: { wires: { default: [e] } } } }\n    - { id: e, type: end }\n',
    );
    const planned = await setpoint('plan', folder, '--out', place);
    expect(planned.status, planned.stderr).toBe(2);
    expect(planned.stdout).toMatch(/\+ create lamp: Lamp\n/);
    expect(planned.stdout).toMatch(/~ change pump: Rule pump \(rule \d+, revision \d+\)\n/);
    expect(planned.stdout).toMatch(/~ priority: 3 → 4\n/);
    expect(planned.stdout).toMatch(/x > 10.* → .*x > 15/);
    expect(planned.stdout).toMatch(/~ actuator 1:action:1: condition\n/);
    expect(planned.stdout).toMatch(/tests: 1 passed, 0 failed\n/);
    expect((await ruleOf(id))['priority']).toBe(3);

    expect(await setpoint('apply', place)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('creates 1, changes 1'),
    });
    const applied = await setpoint('apply', place, '--reason', 'higher limit', '--confirmed');
    expect(applied.status, applied.stderr).toBe(0);
    expect(applied.stdout).toMatch(/created lamp \(rule \d+, revision 1\)\nchanged pump \(rule \d+, revision \d+\)\n/);
    const rule = await ruleOf(id);
    expect(rule).toMatchObject({ priority: 4, enabled: false, applied_revision: rule['revision'] });
    const history = await service.read(`/rules/${id}/revisions?limit=1`);
    expect(history.body['data']?.['list']).toMatchObject([{ action: 'automation.rule.apply', reason: 'higher limit' }]);
    expect(await setpoint('plan', folder)).toMatchObject({ status: 0, stdout: expect.stringContaining('2 unchanged') });

    // The plan was for another revision: exactly that plan, or none.
    expect(await setpoint('apply', place, '--confirmed')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('revision-conflict'),
    });
  });

  test('[rules §12.2] moves and labels are not changes, a changed logic is drift, and the next plan reverts it', async () => {
    const folder = newFolder();
    const id = await made('fan');
    await setpoint('pull', folder);
    const place = join(folder, 'plan.json');
    // Nothing to change, but from now on the file owns the rule.
    expect((await setpoint('plan', folder, '--out', place)).status).toBe(0);
    expect((await setpoint('apply', place, '--confirmed')).status).toBe(0);
    const stored = (await ruleOf(id))['flow_json'] as unknown as { nodes: { position: object; data: object }[] };
    const moved = {
      ...stored,
      nodes: stored.nodes.map((node) => ({
        ...node,
        position: { x: 1, y: 1 },
        data: { ...node.data, label: 'another' },
      })),
    };
    await service.command('PUT', `/rules/${id}`, { flow_json: moved });
    expect((await setpoint('plan', folder)).status).toBe(0);
    await service.command('PUT', `/rules/${id}`, { priority: 9 });
    const drift = await setpoint('plan', folder, '--out', place);
    expect(drift.status).toBe(2);
    expect(drift.stdout).toContain('drift edited since the last plan; this plan takes the edit back');
    expect(drift.stdout).toContain('priority: 9 → 3');
    expect((await setpoint('apply', place, '--confirmed')).status).toBe(0);
    expect((await ruleOf(id))['priority']).toBe(3);
  });

  test('[rules §12.2] only a rule owned by a file is deleted, together with all other changes or not at all', async () => {
    const folder = newFolder();
    const [free, owned] = [await made('free'), await made('owned')];
    await setpoint('pull', folder);
    rmSync(join(folder, 'free.rule.yaml'));
    rmSync(join(folder, 'free.layout.json'));
    const place = join(folder, 'plan.json');
    await setpoint('plan', folder, '--out', place);
    await setpoint('apply', place, '--confirmed');
    rmSync(join(folder, 'owned.rule.yaml'));
    expect((await setpoint('plan', folder, '--out', place)).stdout).toMatch(/- delete owned: Rule owned/);
    await service.command('PUT', `/rules/${owned}`, { priority: 8 });
    expect((await setpoint('apply', place, '--confirmed')).status).toBe(1);
    expect((await service.read(`/rules/${owned}`)).status).toBe(200);
    await setpoint('plan', folder, '--out', place);
    expect(await setpoint('apply', place, '--confirmed')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('deleted owned'),
    });
    expect((await service.read(`/rules/${owned}`)).status).toBe(404);
    expect((await service.read(`/rules/${free}`)).status).toBe(200);
  });

  test('[rules §12.2] every fault of a folder is named, and nothing is stored', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'one.rule.yaml'), 'schema: svc.rule.v1\nname: One\nprioritty: 3\n');
    writeFileSync(join(folder, 'Two.rule.yaml'), 'schema: svc.rule.v1\nname: Two\n');
    writeFileSync(join(folder, 'three.rule.yaml'), 'schema: svc.rule.v1\nname: Three\nflow: { nodes: [] }\n');
    writeFileSync(join(folder, 'three.layout.json'), '{');
    const faults = await setpoint('plan', folder);
    expect(faults.status).toBe(1);
    expect(faults.stderr).toMatch(/one\.rule\.yaml:3: .*prioritty/);
    expect(faults.stderr).toMatch(/Two\.rule\.yaml: name the file after a key/);
    expect(faults.stderr).toMatch(/three\.layout\.json: /);
    for (const [from, to] of [
      ['Two.rule.yaml', 'two.rule.yml'],
      ['two.rule.yml', 'two.Rule.yaml'],
    ] as const) {
      renameSync(join(folder, from), join(folder, to));
      expect((await setpoint('plan', folder)).stderr).toContain(`${to}: rename it to end in .rule.yaml`);
    }
    for (const below of ['of-the-boiler', 'node_modules', '.git'])
      mkdirSync(join(folder, below, 'deeper'), { recursive: true });
    renameSync(join(folder, 'two.Rule.yaml'), join(folder, 'of-the-boiler', 'deeper', 'two.rule.yaml'));
    for (const other of ['node_modules', '.git'])
      copyFileSync(join(folder, 'three.rule.yaml'), join(folder, other, 'deeper', 'three.rule.yaml'));
    const moved = (await setpoint('plan', folder)).stderr;
    expect(moved.split('\n').filter((line) => line.includes('deeper'))).toEqual([
      `setpoint: of-the-boiler/deeper/two.rule.yaml: move it to ${folder}; folders in it are not read`,
    ]);
    renameSync(join(folder, 'of-the-boiler', 'deeper', 'two.rule.yaml'), join(folder, 'Two.rule.yaml'));
    rmSync(join(folder, 'Two.rule.yaml'));
    rmSync(join(folder, 'three.layout.json'));
    writeFileSync(join(folder, 'one.rule.yaml'), 'schema: svc.rule.v1\nname: One\ntrigger: { type: sometimes }\n');
    const refused = await setpoint('plan', folder);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(/one\.rule\.yaml: \/trigger\/type 'type' must be interval or on_change/);
    expect(refused.stderr).toMatch(/three\.rule\.yaml: \/flow\/nodes /);
    expect((await setpoint('plan', join(folder, 'nowhere'))).status).toBe(1);
  });
});
