/** Rules against a Modbus device that goes away and comes back mid-run ([rules §7.3] Execution behavior, [points §4.1], [points §3.1]). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ModbusDevice, startModbusDevice } from '../../src/testing/modbus-server.ts';
import { editorFlow, type Json, startTestService, type TestService, testFolders, waitFor } from './running-service.ts';

const pollMs = 100;
const setpointRegister = 100;
const siteWith = (port: number): string => `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: UTC }
channels:
  - { id: inverter, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: ${pollMs}, timeout_ms: 300, word_order: big }
instances:
  - id: 1
    name: battery
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: inverter, address: { table: holding, register: 0, type: float32 } }
      - { id: 1, name: setpoint, kind: action, unit: kW, min: -500, max: 500, channel: inverter, address: { table: holding, register: ${setpointRegister}, type: float32 } }
`;

describe('[points §5] a device that fails during operation', () => {
  let device: ModbusDevice;
  let service: TestService;
  let follow = 0;
  let constant = 0;

  const newRule = async (name: string, fields: Readonly<Record<string, unknown>>): Promise<number> => {
    const id = Number((await service.command('POST', '/rules', { name })).body['data']?.['id']);
    const updated = await service.command('PUT', `/rules/${id}`, fields);
    expect(updated.status, updated.text).toBe(200);
    return id;
  };
  const measure = (value: number): void => void device.holding.writeFloatBE(value, 0);
  const setpoint = (): number => device.holding.readFloatBE(setpointRegister * 2);
  const setpointWrites = () => device.writes.filter((write) => write.register === setpointRegister);
  const execute = async (id: number): Promise<Json> => {
    const reply = await service.command('POST', `/rules/${id}/execute`);
    expect(reply.status, reply.text).toBe(200);
    return reply.body['data']?.['execution'] ?? {};
  };
  const runs = async (id: number): Promise<readonly Json[]> =>
    (await service.read(`/rules/${id}/history?limit=100`)).body['data']?.['list'] as unknown as readonly Json[];
  const online = () =>
    waitFor(async () => {
      const run = await execute(follow);
      return run['outcome'] !== ('skipped' as unknown) || undefined;
    });

  beforeAll(async () => {
    device = await startModbusDevice();
    measure(5);
    service = await startTestService(testFolders(siteWith(device.port)));
    follow = await newRule('follow', {
      flow_json: editorFlow('x > 10', 'x * 2'),
      trigger_config: { type: 'interval', interval_ms: 100 },
    });
    constant = await newRule('constant', {
      flow_json: {
        nodes: [
          { id: 'start', type: 'start', position: { x: 0, y: 0 }, data: { config: { wires: { default: ['act'] } } } },
          {
            id: 'act',
            type: 'action',
            position: { x: 0, y: 0 },
            data: { config: { writes: [{ instance: 1, point: 1, value: 77 }], wires: { default: ['end'] } } },
          },
          { id: 'end', type: 'end', position: { x: 0, y: 0 } },
        ],
        edges: [],
      },
    });
  });
  beforeEach(async () => {
    measure(5);
    await online();
  });
  afterAll(async () => {
    await service.stop();
    service.folders.remove();
    await device.stop();
  });

  test('[rules §7.3] a point change becomes a command at the device', async () => {
    measure(30);
    await waitFor(async () => (await execute(follow))['outcome'] === ('acted' as unknown) || undefined);
    await waitFor(() => setpoint() === 60 || undefined);
  });

  test('on-change: the device changes, the rule runs, the device is written', async () => {
    const trigger = {
      type: 'on_change',
      point_refs: [{ instance: 1, point_type: 'measurement', point: 1 }],
      time_deadband_ms: 0,
      value_deadband: { type: 'absolute', threshold: 1 },
    };
    const id = await newRule('on change', { flow_json: editorFlow('x > 10', 'x + 1'), trigger_config: trigger });
    await service.command('POST', `/rules/${id}/enable`);
    measure(40);
    await waitFor(() => setpoint() === 41 || undefined);
    const run = await waitFor(async () =>
      (await runs(id)).find((record) => record['outcome'] === ('acted' as unknown)),
    );
    expect(run).toMatchObject({
      trigger: { type: 'on_change', point: { instance: 1, point_type: 'measurement', point: 1 } },
      variable_values: { x: 40 },
    });
    await service.command('DELETE', `/rules/${id}`);
  });

  test('stopped and restarted: inputs decide nothing, commands fail with a reason and are never delivered later', async () => {
    measure(50);
    await service.command('POST', `/rules/${follow}/enable`);
    await waitFor(() => setpoint() === 100 || undefined);
    await device.stop();
    const skipped = await waitFor(async () =>
      (await runs(follow)).find((run) => run['outcome'] === ('skipped' as unknown)),
    );
    expect(skipped).toMatchObject({
      success: false,
      actions_executed: [],
      error: { code: 'missing-input', missing: ['x'] },
    });
    await service.command('POST', `/rules/${follow}/disable`);

    const written = setpointWrites().length;
    const failed = await waitFor(async () => {
      const run = await execute(constant);
      return run['outcome'] === ('failed' as unknown) ? run : undefined;
    });
    expect(failed['success']).toBe(false);
    expect(failed['actions_executed']).toMatchObject([{ value: 77, success: false }]);
    expect(['offline', 'unavailable']).toContain(failed['actions_executed']?.['0']?.['reason']);

    measure(5);
    await device.start();
    await online();
    // Many polls later the refused command has not arrived; a new one arrives at once.
    await waitFor(() => device.connections() > 0 || undefined);
    const polledMs = Date.now();
    await waitFor(() => Date.now() - polledMs > 10 * pollMs || undefined);
    expect(setpointWrites().length).toBe(written);
    expect(setpoint()).toBe(100);
    expect((await execute(constant))['outcome']).toBe('acted');
    await waitFor(() => setpoint() === 77 || undefined);
  });

  test('silent but connected: old values are not taken for new ones', async () => {
    measure(60);
    await waitFor(async () => (await execute(follow))['variable_values']?.['x'] === (60 as unknown) || undefined);
    device.silence(true);
    const skipped = await waitFor(async () => {
      const run = await execute(follow);
      return run['outcome'] === ('skipped' as unknown) ? run : undefined;
    });
    expect(skipped['variable_values']).toEqual({ x: null });
    const variables = await service.read(`/rules/${follow}/variables`);
    const variable = variables.body['data']?.['variables']?.['0'];
    expect(variable?.['value']).toBeNull();
    expect(['stale', 'bad', 'missing']).toContain(variable?.['quality']);
    device.silence(false);
    await online();
  });

  test('the service starts, and reports missing inputs, while the device is unreachable', async () => {
    await device.stop();
    const other = await startTestService(testFolders(siteWith(device.port)));
    try {
      expect((await other.read('/scheduler/status')).body['data']).toMatchObject({ running: true });
    } finally {
      await other.stop();
      other.folders.remove();
      await device.start();
    }
  });
});
