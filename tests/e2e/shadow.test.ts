/** A rule in shadow beside a live one, with a device as the judge [rules §1.6]. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ModbusDevice, startModbusDevice } from '../../src/testing/modbus-server.ts';
import { editorFlow, type Json, startTestService, type TestService, testFolders, waitFor } from './running-service.ts';

const setpointRegister = 100;
/** Written only by the rule in shadow. */
const spareRegister = 200;
const siteWith = (port: number): string => `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: UTC }
channels:
  - { id: inverter, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 100, timeout_ms: 300, word_order: big }
instances:
  - id: 1
    name: battery
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: inverter, address: { table: holding, register: 0, type: float32 } }
      - { id: 1, name: setpoint, kind: action, unit: kW, min: -500, max: 500, channel: inverter, address: { table: holding, register: ${setpointRegister}, type: float32 } }
      - { id: 2, name: spare, kind: action, unit: kW, min: -500, max: 500, channel: inverter, address: { table: holding, register: ${spareRegister}, type: float32 } }
`;
const trigger_config = { type: 'interval', interval_ms: 100 };

describe('[rules §1.6] shadow', () => {
  let device: ModbusDevice;
  let service: TestService;
  beforeAll(async () => {
    device = await startModbusDevice();
    device.holding.writeFloatBE(20, 0);
    service = await startTestService(testFolders(siteWith(device.port)));
  });
  afterAll(async () => {
    await service.stop();
    service.folders.remove();
    await device.stop();
  });

  const made = async (name: string, value: number, more: object = {}): Promise<number> => {
    const id = Number((await service.command('POST', '/rules', { name })).body['data']?.['id']);
    const flow_json = editorFlow('x > 10', value);
    const put = await service.command('PUT', `/rules/${id}`, { flow_json, trigger_config, ...more });
    expect(put.status, put.text).toBe(200);
    return id;
  };
  const runs = async (id: number): Promise<readonly Json[]> =>
    (await service.read(`/rules/${id}/history?limit=100`)).body['data']?.['list'] as unknown as readonly Json[];
  const writesTo = (wanted: number): number => device.writes.filter(({ register }) => register === wanted).length;
  const setpoint = (): number => device.holding.readFloatBE(setpointRegister * 2);

  test('it runs, is recorded and commands nothing, also by hand; the report says where it differs; promoted, it commands', async () => {
    const live = await made('live', 7);
    const flow_json = structuredClone(editorFlow('x > 10', 9)) as {
      nodes: { id: string; data?: { config: object } }[];
    };
    const both = [1, 2].map((point) => ({ instance: 1, point, value: 9 }));
    for (const { id, data } of flow_json.nodes) if (id === 'act' && data) Object.assign(data.config, { writes: both });
    const candidate = await made('candidate', 9, { priority: 50, flow_json });
    await service.command('POST', `/rules/${live}/enable`);
    await waitFor(async () => setpoint() === 7 || undefined);
    const from = new Date().toISOString();
    const enabled = await service.command('POST', `/rules/${candidate}/enable`, { mode: 'shadow' });
    expect(enabled.body['data']).toEqual({ id: candidate, status: 'enabled' });
    await service.command('POST', `/rules/${candidate}/execute`);
    await waitFor(async () => (await runs(candidate)).length > 12 || undefined);
    for (const run of await runs(candidate))
      expect(run).toMatchObject({
        shadow: true,
        outcome: 'acted',
        actions_executed: both.map((write) => ({ ...write, written: 9, success: true, reason: 'shadow' })),
      });
    expect([setpoint(), writesTo(spareRegister)]).toEqual([7, 0]);
    expect((await service.read('/rules?mode=shadow&include=status')).body['data']).toMatchObject({
      total: 1,
      list: [{ id: candidate, mode: 'shadow', status: { mode: 'shadow' } }],
    });
    const owner = await service.read('/points/1/action/1/ownership');
    expect(owner.text).not.toContain('candidate');

    const to = new Date().toISOString();
    const report = await service.read(`/rules/${candidate}/shadow-report?against=${live}&from=${from}&to=${to}`);
    const { data } = report.body;
    expect(data).toMatchObject({ equal: 0 });
    expect(Number(data?.['compared'])).toBeGreaterThan(8);
    expect(data?.['differences']).toContainEqual({
      at: expect.any(String) as string,
      actuators: [
        { instance: 1, point: 1, shadow: 9, live: 7 },
        { instance: 1, point: 2, shadow: 9, live: null },
      ],
      nodes: [],
    });
    const again = await service.read(`/rules/${live}/shadow-report?against=${live}&from=${from}&to=${to}`);
    expect(again.body['data']).toEqual({ compared: 0, equal: 0, differences: [] });

    const promoted = await service.command('POST', `/rules/${candidate}/promote`, { reason: 'better' });
    expect(promoted.body['data']).toMatchObject({ status: 'promoted', warnings: [{ code: 'shared-point' }] });
    await waitFor(async () => (setpoint() === 9 && writesTo(spareRegister) > 0) || undefined);
    const twice = await service.command('POST', `/rules/${candidate}/promote`);
    expect([twice.status, twice.body['error']?.['code']]).toEqual([400, 'invalid-input']);
    expect((await service.read(`/rules/${candidate}/revisions?limit=1`)).body['data']).toMatchObject({
      list: [{ action: 'automation.rule.promote', reason: 'better', mode: 'live' }],
    });
  });
});
