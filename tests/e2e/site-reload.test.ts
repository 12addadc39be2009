/** A changed site file in a running service [points §1.3]: additions take effect, and nothing else is disturbed. */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addedPointsMaximum } from '../../src/api/site.ts';
import { type ModbusDevice, startModbusDevice } from '../../src/testing/modbus-server.ts';
import { editorFlow, type Json, startTestService, type TestService, testFolders, waitFor } from './running-service.ts';

let old: ModbusDevice;
let fresh: ModbusDevice;
let service: TestService;

const channel = (id: string, { port }: ModbusDevice): string =>
  `  - { id: ${id}, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 100, timeout_ms: 300, word_order: big }\n`;
const address = (register: number): string => `address: { table: holding, register: ${register}, type: float32 }`;
const head = (): string => `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: UTC }
parameters:
  floor: { value: 1 }
channels:
${channel('battery', old)}`;
const instances = `instances:
  - id: 1
    name: battery
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: battery, ${address(0)}, record: true }
      - { id: 1, name: setpoint, kind: action, unit: kW, min: -500, max: 500, channel: battery, ${address(100)} }
`;
/** The new instance comes first: the file's order differs from the running service's. */
const larger = (): string => {
  const meter = `instances:
  - id: 2
    name: meter
    points:
      - { id: 1, name: power, kind: measurement, unit: kW, channel: meter, ${address(4)}, record: true }
      - { id: 1, name: limit, kind: action, unit: kW, min: 0, max: 50, channel: meter, ${address(104)} }
`;
  const limits = 'limits:\n  - { target: { instance: 1, point: 1 }, max: 40 }\n';
  return head() + channel('meter', fresh) + meter + instances.replace('instances:\n', '') + limits;
};

const write = (text: string): void => writeFileSync(join(service.folders.config, 'site.yaml'), text);
const setpoint = ({ holding }: ModbusDevice, register: number): number => holding.readFloatBE(register * 2);
const points = async (): Promise<readonly Json[]> =>
  (await service.read('/points')).body['data']?.['list'] as unknown as readonly Json[];
const valueOf = async (instance: number, kind: string): Promise<unknown> =>
  (await points()).find((point) => Number(point['instance']) === instance && String(point['point_type']) === kind)?.[
    'value'
  ];
const reload = () =>
  service.request('POST', '/api/v1/automation/api/site/reload', { headers: { 'x-svc-confirmed': 'true' } });
const changes = async () => (await service.read('/site/changes')).body['data'];

beforeAll(async () => {
  [old, fresh] = await Promise.all([startModbusDevice(), startModbusDevice()]);
  old.holding.writeFloatBE(30, 0);
  fresh.holding.writeFloatBE(7.5, 8);
  service = await startTestService(testFolders(head() + instances));
});
afterAll(async () => {
  await service.stop();
  service.folders.remove();
  await Promise.all([old.stop(), fresh.stop()]);
});

test('[points §1.3] new points, channels and limits are applied; unchanged channels keep connection and values', async () => {
  const id = Number((await service.command('POST', '/rules', { name: 'follow' })).body['data']?.['id']);
  const rule = { flow_json: editorFlow('x > 10', 'x * 2'), trigger_config: { type: 'interval', interval_ms: 100 } };
  await service.command('PUT', `/rules/${id}`, rule);
  await service.command('POST', `/rules/${id}/enable`);
  await waitFor(() => setpoint(old, 100) === 60);
  expect(await changes()).toEqual({
    channels: { added: [], changed: [] },
    points: { added: [], changed: [] },
    instances: { added: [], changed: [] },
    sections: [],
    issues: [],
    warnings: [],
  });
  const connections = old.accepted();

  write(larger());
  const wanted = {
    channels: { added: ['meter'], changed: [] },
    points: { added: ['2:measurement:1', '2:action:1'], changed: [] },
    instances: { added: [2], changed: [] },
    sections: ['limits'],
  };
  expect(await changes()).toEqual({ ...wanted, issues: [], warnings: [] });
  const reply = await reload();
  expect(reply.body['data'], reply.text).toEqual({
    ...wanted,
    warnings: [],
    rules: { rules_loaded: 1, rules_failed: [] },
  });

  // The value is still there, and the new file's limit applies to the next command.
  expect(await valueOf(1, 'measurement')).toBe(30);
  await waitFor(() => setpoint(old, 100) === 40);
  expect(old.accepted()).toBe(connections);
  await waitFor(async () => (await valueOf(2, 'measurement')) === 7.5);
  // A rule writes the new point.
  const second = Number((await service.command('POST', '/rules', { name: 'limit' })).body['data']?.['id']);
  const text = JSON.stringify(editorFlow('x > 1', 'x')).replaceAll('"instance":1', '"instance":2');
  await service.command('PUT', `/rules/${second}`, { ...rule, flow_json: JSON.parse(text) as unknown });
  const run = await service.command('POST', `/rules/${second}/execute`);
  expect(run.text).toContain('"written":7.5');
  await waitFor(() => setpoint(fresh, 104) === 7.5);
  // Both are recorded.
  const from = new Date(Date.now() - 60_000).toISOString();
  for (const instance of [1, 2])
    await waitFor(async () => {
      const to = new Date(Date.now() + 5000).toISOString();
      const series = await service.read(`/points/${instance}/measurement/1/series?from=${from}&to=${to}&buckets=6`);
      expect(series.status, series.text).toBe(200);
      return series.text.includes(instance === 1 ? '30' : '7.5');
    });
});

test('[points §1.3] a change that needs a restart is refused as a whole, and so is an invalid file', async () => {
  write(
    larger()
      .replace('timezone: UTC', 'timezone: Europe/Amsterdam')
      .replace(/ {6}- \{ id: 1, name: soc.*\n/, '')
      .replace('max: 40', 'max: 10'),
  );
  const issues = [
    'timezone has changed: restart the service to apply it',
    'point 1:measurement:1 was removed: restart the service to apply this, or put it back',
  ];
  expect((await changes())?.['issues']).toEqual(issues);
  const refused = await reload();
  expect([refused.status, refused.body['error']?.['details']]).toEqual([422, { issues }]);
  write('schema: svc.site.v1\n');
  expect(String((await changes())?.['issues'])).toMatch(/site\.yaml:1: .*site/);
  expect((await reload()).status).toBe(422);
  expect(setpoint(old, 100)).toBe(40);
});

test('[points §1.3] points are added to the file by preview and confirmation; a changed channel alone starts again', async () => {
  write(larger());
  chmodSync(join(service.folders.config, 'site.yaml'), 0o644);
  const point = {
    id: 2,
    name: 'voltage',
    kind: 'measurement',
    unit: 'V',
    channel: 'meter',
    address: { table: 'holding', register: 6, type: 'float32' },
  };
  const preview = async (body: object) =>
    service.request('POST', '/api/v1/automation/api/site/points/preview', { body });
  const body = { instance: 2, points: [point] };
  const many = Array.from({ length: addedPointsMaximum + 1 }, (_, id) => ({ ...point, id: id + 10 }));
  expect((await preview({ instance: 2, points: many })).status).toBe(400);
  expect((await preview({ instance: 2, points: many.slice(1) })).body['data']).toMatchObject({ issues: [] });
  const wrong = await preview({ instance: 2, points: [{ ...point, channel: 'nowhere' }] });
  expect(String(wrong.body['data']?.['issues'])).toMatch(/unknown channel nowhere/);
  // Valid, but two action points for one register: the warning is shown before they are added.
  const [one, two] = [20, 21].map((id) => ({ ...point, id, name: `setpoint_${id}`, kind: 'action' }));
  expect((await preview({ instance: 2, points: [one] })).body['data']).toMatchObject({ issues: [], warnings: [] });
  expect((await preview({ instance: 2, points: [one, two] })).body['data']).toMatchObject({
    issues: [],
    warnings: [expect.stringMatching(/2:action:20 .* and 2:action:21 .* write the same place of a device/)],
  });
  const shown = (await preview(body)).body['data'];
  expect(shown).toMatchObject({ issues: [], warnings: [], difference: { removed: [] } });
  const { revision } = shown as unknown as { revision: string };
  expect((await service.command('POST', '/site/points', { ...body, revision: 'another' })).status).toBe(409);
  const added = await service.command('POST', '/site/points', { ...body, revision });
  expect(added.status, added.text).toBe(200);
  const file = join(service.folders.config, 'site.yaml');
  expect(readFileSync(file, 'utf8')).toContain('voltage');
  // The service creates files only it may read; this one stays the operator's.
  expect(statSync(file).mode & 0o777).toBe(0o644);

  fresh.holding.writeFloatBE(231, 12);
  const [before, other] = [fresh.accepted(), old.accepted()];
  expect((await reload()).body['data']).toMatchObject({ channels: { added: [], changed: ['meter'] }, sections: [] });
  await waitFor(async () =>
    (await points()).some((each) => String(each['name']) === 'voltage' && Number(each['value']) === 231),
  );
  expect([fresh.accepted() > before, old.accepted()]).toEqual([true, other]);
  const audit = await service.request('GET', '/api/v1/audit/events?limit=50', { token: await service.token('Admin') });
  expect(audit.text).toContain('automation.site.reload');
  expect(audit.text).toContain('automation.site.add-points');
  // A second reload has nothing to do: the engine keeps running.
  expect((await reload()).body['data']?.['rules']).toBeNull();
  // Two at once: neither is lost.
  const [third, fourth] = [3, 4].map((id) => ({ instance: 2, points: [{ ...point, id, name: `extra_${id}` }] }));
  await Promise.all([third, fourth].map((each) => service.command('POST', '/site/points', each ?? {})));
  // In the order in which they were taken.
  const orders = [
    ['2:measurement:3', '2:measurement:4'],
    ['2:measurement:4', '2:measurement:3'],
  ].map((added) => ({ added, changed: [] }));
  expect(orders).toContainEqual((await changes())?.['points']);
});

test('[points §9] a parameter that is changed while a site file is being applied keeps its new value', async () => {
  const floor = async (): Promise<unknown> =>
    (await service.read('/instances')).body['data']?.['parameters']?.[0]?.['value'];
  const text = readFileSync(join(service.folders.config, 'site.yaml'), 'utf8');
  const change = async (value: number, afterMs: number): Promise<number> => {
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    return (await service.command('PUT', '/parameters/floor', { value })).status;
  };
  // The first requests of a service are slower than later ones, which would overtake them.
  for (const value of [1, 2, 3]) expect(await change(value, 0)).toBe(200);
  for (let round = 1; round <= 8; round++) {
    write(text.replace(/max: 40\b/, `max: ${100 + round}`));
    // Before the reload, while the file is read, and while the engine restarts.
    const taken = await Promise.all([change(round, 0), reload(), change(10 * round, 5), change(100 * round, 60)]);
    expect(taken.map((each) => (typeof each === 'number' ? each : each.status))).toEqual([200, 200, 200, 200]);
    expect(await floor()).toBe(100 * round);
    expect((await service.command('POST', '/scheduler/reload')).status).toBe(200);
    expect(await floor()).toBe(100 * round);
  }
});

test('[points §9] a changed value that a new range excludes is a warning before the reload, in its answer and at a start', async () => {
  const text = readFileSync(join(service.folders.config, 'site.yaml'), 'utf8');
  const floor = async () =>
    (await service.read('/instances')).body['data']?.['parameters']?.[0] as unknown as { value: number };
  expect((await service.command('PUT', '/parameters/floor', { value: 30 })).status).toBe(200);
  write(text.replace('floor: { value: 1 }', 'floor: { value: 5, max: 20 }'));
  const warnings = [
    'parameter floor was changed to 30, which its range in site.yaml excludes: 5 of the file is in force',
  ];
  expect(await changes()).toMatchObject({ issues: [], warnings });
  expect((await reload()).body['data']).toMatchObject({ warnings });
  expect((await floor()).value).toBe(5);
  expect(await changes()).toMatchObject({ warnings: [] });
  await service.stop();
  service = await startTestService(service.folders);
  await waitFor(async () => service.logs().includes('parameter floor was changed to 30') || undefined);
  write(text);
  expect((await reload()).status).toBe(200);
  expect((await floor()).value).toBe(30);
});

test('[points §1.3] a point whose unit changes is a warning before the reload, in its answer and in the log', async () => {
  const text = readFileSync(join(service.folders.config, 'site.yaml'), 'utf8');
  write(text.replace(/(name: power, .*unit: )kW/, '$1W'));
  const warnings = [
    expect.stringMatching(
      /^the meaning of values changes: 2:measurement:1 \(meter power\): unit W instead of kW\. Numbers/,
    ),
  ];
  expect(await changes()).toMatchObject({ points: { changed: ['2:measurement:1'] }, issues: [], warnings });
  expect((await reload()).body['data']).toMatchObject({ warnings });
  await waitFor(async () => service.logs().includes('the meaning of values changes') || undefined);
  expect(await changes()).toMatchObject({ warnings: [] });
});

test('[points §1.2] action points that write the same place of a device are a warning in the log, at a reload and at a start', async () => {
  const warning = '1:action:1 (battery setpoint) and 1:action:9 (battery again) write the same place of a device';
  const again = `      - { id: 9, name: again, kind: action, unit: kW, min: 0, max: 1, channel: battery, ${address(100)} }\n`;
  const text = readFileSync(join(service.folders.config, 'site.yaml'), 'utf8');
  const setpointLine = text.split('\n').find((line) => line.includes('name: setpoint'));
  expect(service.logs()).not.toContain(warning);
  write(text.replace(`${setpointLine}\n`, `${setpointLine}\n${again}`));
  expect((await reload()).status).toBe(200);
  await waitFor(async () => service.logs().includes(warning) || undefined);
  const started = await startTestService(testFolders(head() + instances + again));
  expect(started.logs()).toContain(warning);
  await started.stop();
  started.folders.remove();
});
