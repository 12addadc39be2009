/** Single ordinary faults leave the site under control [rules §6]: each of them once ended it. */
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { startModbusDevice } from '../../src/testing/modbus-server.ts';
import { feedFlow, startTestService, type TestService, testFolders, virtualSite, waitFor } from './running-service.ts';

const cooldownMsMax = 31_622_400_000;

async function newRule(
  service: TestService,
  name: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<number> {
  const id = Number((await service.command('POST', '/rules', { name })).body['data']?.['id']);
  const stored = await service.command('PUT', `/rules/${id}`, changes);
  expect(stored.status, stored.text).toBe(200);
  await service.command('POST', `/rules/${id}/enable`);
  return id;
}

test('[rules §1.1] a cooldown is bounded, and a stored one of 2^53-1 ms answers every question while the engine continues', async () => {
  const folders = testFolders(virtualSite);
  let service = await startTestService(folders);
  const id = await newRule(service, 'pump', { flow_json: feedFlow(), cooldown_ms: cooldownMsMax });
  const refused = await service.command('PUT', `/rules/${id}`, { cooldown_ms: cooldownMsMax + 1 });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('cooldown_ms');
  await waitFor(async () => (await service.read(`/rules/${id}/status`)).body['data']?.['last_run'] ?? undefined);
  expect(await service.stop()).toBe(0);

  const database = new DatabaseSync(join(folders.data, 'site.sqlite'));
  database.prepare('UPDATE rules SET cooldown_ms = ?, revision = revision + 1').run(BigInt(Number.MAX_SAFE_INTEGER));
  database.close();
  service = await startTestService(folders);
  try {
    for (let asked = 0; asked < 10; asked++) {
      const status = await service.read(`/rules/${id}/status`);
      expect(status.status, status.text).toBe(200);
      expect(status.body['data']).toMatchObject({ state: 'cooldown', cooldown_until: '9999-12-31T23:59:59.999Z' });
      expect((await service.read('/rules?include=status')).status).toBe(200);
    }
    expect((await service.read(`/rules/${id}`)).body['data']?.['cooldown_ms']).toBe(Number.MAX_SAFE_INTEGER);
    expect((await service.command('PUT', `/rules/${id}`, { description: 'still editable' })).status).toBe(200);
    expect((await service.read('/scheduler/status')).body['data']).toMatchObject({ running: true, restarts: 0 });
  } finally {
    await service.stop();
    folders.remove();
  }
});

test('[points §3] a device that answers an unknown exception code disturbs no other channel, and shows as refusing', async () => {
  const device = await startModbusDevice();
  device.holding.writeUInt16BE(50, 0);
  const plc = (port: number, id: string) =>
    `  - { id: ${id}, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 20, timeout_ms: 5000, word_order: big }`;
  const other = await startModbusDevice();
  const folders = testFolders(`schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
${plc(device.port, 'good')}
${plc(other.port, 'refusing')}
instances:
  - id: 1
    name: plant
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: good, address: { table: holding, register: 0, type: uint16 } }
      - { id: 1, name: setpoint, kind: action, unit: kW, channel: good, address: { table: holding, register: 10, type: uint16 } }
      - { id: 2, name: level, kind: measurement, unit: m, channel: refusing, address: { table: holding, register: 0, type: uint16 } }
      - { id: 3, name: door, kind: measurement, unit: "1", channel: refusing, address: { table: discrete, register: 3, type: bool } }
`);
  folders.write('service.yaml', 'devices: { refusing_after_ms: 500 }\n');
  const service = await startTestService(folders);
  try {
    const metric = async (name: string, channel: string): Promise<string | undefined> =>
      new RegExp(`^setpoint_${name}{channel="${channel}".*} (.*)$`, 'm').exec(
        (await service.request('GET', '/metrics', { token: null })).text,
      )?.[1];
    await waitFor(async () => (await metric('device_channel_online', 'refusing')) === '1' || undefined);
    for (const code of [7, 9, 12, 16, 99, 128]) {
      other.refuse(code);
      const before = other.accepted();
      const polls = device.reads.length;
      await waitFor(() => device.reads.length > polls + 10 || undefined);
      expect(other.accepted()).toBe(before);
    }
    await waitFor(async () => (await metric('device_channel_refusing', 'refusing')) === '1' || undefined);
    expect(await metric('device_channel_refusing', 'good')).toBe('0');
    other.refuse(null);
    await waitFor(async () => (await metric('device_channel_refusing', 'refusing')) === '0' || undefined);
    expect(service.logs()).not.toContain('device layer failed');
  } finally {
    await service.stop();
    folders.remove();
    await device.stop();
    await other.stop();
  }
});

/** A connection that holds the write lock: to the service its disk has stalled. */
function stalledDisk(file: string): { readonly release: () => void } {
  const database = new DatabaseSync(file, { timeout: 5000 });
  database.exec('BEGIN IMMEDIATE');
  return {
    release() {
      database.exec('ROLLBACK');
      database.close();
    },
  };
}

test('[rules §6.3] ticks and commands never wait for a store: rules run on while the disk takes nothing, and all is stored after', async () => {
  const folders = testFolders(virtualSite);
  const service = await startTestService(folders);
  try {
    const trigger = { type: 'interval', interval_ms: 100 };
    await newRule(service, 'level', { flow_json: feedFlow(), trigger_config: trigger, cooldown_ms: 1 });
    const counters = async (): Promise<Record<string, number>> =>
      (await service.read('/scheduler/status')).body['data'] as unknown as Record<string, number>;
    await waitFor(async () => ((await counters())['executions'] ?? 0) > 5 || undefined);
    const disk = stalledDisk(join(folders.data, 'runtime.sqlite'));
    const before = await counters();
    await waitFor(async () => ((await counters())['ticks'] ?? 0) > (before['ticks'] ?? 0) + 25 || undefined);
    const during = await counters();
    disk.release();
    const executed = (during['executions'] ?? 0) - (before['executions'] ?? 0);
    expect(executed).toBeGreaterThan(20);
    expect((during['overruns'] ?? 0) - (before['overruns'] ?? 0)).toBeLessThan(5);
    const first = before['executions'] ?? 0;
    await waitFor(async () => {
      const list = (await service.read('/rules/1/history?limit=100')).body['data']?.['list'] as unknown as unknown[];
      return list.length > first + 20 || undefined;
    });
    expect(await counters()).toMatchObject({ records_dropped: 0, restarts: 0 });
  } finally {
    await service.stop();
    folders.remove();
  }
});

test('[rules §6.3] a cooldown, a priority hold and a write budget outlive kill -9 right after the command', async () => {
  const site = `${virtualSite}      - { id: 3, name: held, kind: action, unit: "1", channel: derived, priority_hold_ms: 3600000 }
      - { id: 4, name: budgeted, kind: action, unit: "1", channel: derived, max_writes_per_minute: 1 }
`;
  const folders = testFolders(site);
  let service = await startTestService(folders);
  const writing = (point: number, value: number): Record<string, unknown> => {
    const at = { x: 0, y: 0 };
    const write = { writes: [{ instance: 1, point, value }], wires: { default: ['end'] } };
    return {
      nodes: [
        { id: 'start', type: 'start', position: at, data: { config: { wires: { default: ['act'] } } } },
        { id: 'act', type: 'action', position: at, data: { config: write } },
        { id: 'end', type: 'end', position: at },
      ],
      edges: [],
    };
  };
  const never = { type: 'interval', interval_ms: 86_400_000 };
  const cooling = await newRule(service, 'cooling', { flow_json: feedFlow(), cooldown_ms: 3_600_000 });
  const strong = Number((await service.command('POST', '/rules', { name: 'strong' })).body['data']?.['id']);
  await service.command('PUT', `/rules/${strong}`, { flow_json: writing(3, 1), trigger_config: never, priority: 100 });
  const weak = Number((await service.command('POST', '/rules', { name: 'weak' })).body['data']?.['id']);
  await service.command('PUT', `/rules/${weak}`, { flow_json: writing(3, 0), trigger_config: never });
  const often = Number((await service.command('POST', '/rules', { name: 'often' })).body['data']?.['id']);
  await service.command('PUT', `/rules/${often}`, { flow_json: writing(4, 1), trigger_config: never });
  await waitFor(
    async () =>
      ((await service.read(`/rules/${cooling}/status`)).body['data']?.['state'] as unknown as string) === 'cooldown' ||
      undefined,
  );
  expect((await service.command('POST', `/rules/${strong}/execute`)).body['data']).toMatchObject({ outcome: 'acted' });
  expect((await service.command('POST', `/rules/${often}/execute`)).body['data']).toMatchObject({ outcome: 'acted' });
  await service.stop('SIGKILL');
  service = await startTestService(folders);
  try {
    const execution = async (id: number) =>
      (await service.command('POST', `/rules/${id}/execute`)).body['data']?.['execution'];
    const after = await waitFor(async () => (await service.read(`/rules/${cooling}/status`)).body['data']);
    expect(after).toMatchObject({ state: 'cooldown' });
    expect(await execution(weak)).toMatchObject({
      actions_executed: [{ success: false, reason: 'outranked', outranked_by: strong }],
    });
    expect(await execution(often)).toMatchObject({ actions_executed: [{ success: false, reason: 'rate-limited' }] });
  } finally {
    await service.stop();
    folders.remove();
  }
});

test('[rules §7.5] runs that wait to be stored together outlive kill -9', async () => {
  const folders = testFolders(virtualSite);
  let service = await startTestService(folders);
  try {
    const trigger = { type: 'interval', interval_ms: 100 };
    const id = await newRule(service, 'level', { flow_json: feedFlow(), trigger_config: trigger });
    const executions = async (): Promise<number> =>
      Number((await service.read('/scheduler/status')).body['data']?.['executions']);
    await waitFor(async () => (await executions()) > 10 || undefined);
    const certain = await executions();
    // Handed over within `record_flush_ms` (100), and in the journal by then.
    await waitFor(async () => (await executions()) > certain + 5 || undefined);
    expect(readdirSync(join(folders.data, 'journal'))).toHaveLength(1);
    await service.stop('SIGKILL');
    service = await startTestService(folders);
    const runs = async (): Promise<unknown[]> =>
      (await service.read(`/rules/${id}/history?limit=100`)).body['data']?.['list'] as unknown as unknown[];
    await waitFor(async () => (await runs()).length >= certain || undefined);
    expect(await service.stop()).toBe(0);
    expect(readdirSync(join(folders.data, 'journal'))).toEqual([]);
  } finally {
    await service.stop();
    folders.remove();
  }
});

test('[platform §1.1] the data directory and its files are accessible to the service only', async () => {
  const folders = testFolders(virtualSite);
  mkdirSync(folders.data, { mode: 0o755 });
  const service = await startTestService(folders);
  try {
    expect(statSync(folders.data).mode & 0o777).toBe(0o700);
    const open = readdirSync(folders.data).filter((name) => (statSync(join(folders.data, name)).mode & 0o077) !== 0);
    expect(open).toEqual([]);
  } finally {
    await service.stop();
    folders.remove();
  }
});

test('a reload of the scheduler applies parameters, and names the other changes of site.yaml', async () => {
  const folders = testFolders(virtualSite);
  const service = await startTestService(folders);
  try {
    const reload = async () => (await service.command('POST', '/scheduler/reload')).body['data'] as unknown;
    folders.write('site.yaml', virtualSite.replace('value: 10', 'value: 11'));
    expect(await reload()).toEqual({ rules_loaded: 0, rules_failed: [] });
    folders.write(
      'site.yaml',
      `${virtualSite}      - { id: 9, name: new, kind: measurement, unit: m, channel: derived }\n`,
    );
    expect(await reload()).toMatchObject({
      warnings: [{ code: 'site-changed', message: 'changed in site.yaml and not applied: channels, points' }],
    });
  } finally {
    await service.stop();
    folders.remove();
  }
});
