/** Single ordinary faults leave the site under control (decisions §6): each was once enough to end it. */
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

test('§6 a cooldown is bounded, and a stored one of 2^53-1 ms answers every question while the engine goes on', async () => {
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

test('§6 a device that answers an unknown exception code disturbs no other channel, and shows as refusing', async () => {
  const device = await startModbusDevice();
  device.holding.writeUInt16BE(50, 0);
  const plc = (port: number, id: string) =>
    `  - { id: ${id}, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 20, timeout_ms: 500, word_order: big }`;
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
    expect(service.logs()).not.toContain('the device layer died');
  } finally {
    await service.stop();
    folders.remove();
    await device.stop();
    await other.stop();
  }
});
