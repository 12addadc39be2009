/** An actuator under manual control [points §7]: the Modbus device shows what was written, until when, and across a kill. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { wholeList } from '../../src/api/page.ts';
import { type ModbusDevice, startModbusDevice } from '../../src/testing/modbus-server.ts';
import {
  editorFlow,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestFolders,
  type TestService,
  testFolders,
  waitFor,
} from './running-service.ts';

const site = (port: number): string => `schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
parameters: { most: { value: 50, unit: kW, min: 0, max: 100 }, "night rate (€/kWh)": { value: 0.2 } }
channels:
  - { id: plc, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 50, timeout_ms: 1000, word_order: big }
instances:
  - id: 1
    name: plant
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: plc, record: true, address: { table: holding, register: 0, type: uint16 } }
      - { id: 2, name: signal, kind: measurement, unit: kW, channel: plc, address: { table: holding, register: 1, type: uint16 } }
      - { id: 1, name: setpoint, kind: action, unit: kW, min: 0, max: 100, step: 1, channel: plc, address: { table: holding, register: 10, type: uint16 } }
limits:
  - { target: { instance: 1, point: 1 }, max_from: { instance: 1, point: 2 }, failsafe: { value: 5, after_ms: 1000 } }
`;
const setpoint = '/points/1/action/1';

describe('[points §7] an actuator in hand', () => {
  let device: ModbusDevice;
  let folders: TestFolders;
  let service: TestService;
  const written = (): number => device.holding.readUInt16BE(20);
  const override = (value: number, seconds: number) =>
    service.command('POST', `${setpoint}/override`, { value, for_seconds: seconds, reason: 'a test of ours' });

  beforeAll(async () => {
    device = await startModbusDevice();
    device.holding.writeUInt16BE(50, 0);
    device.holding.writeUInt16BE(80, 2);
    folders = testFolders(site(device.port));
    service = await startTestService(folders);
    const id = Number((await service.command('POST', '/rules', { name: 'ten' })).body['data']?.['id']);
    const trigger_config = { type: 'interval', interval_ms: 100 };
    await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow('x > 10', 10), trigger_config });
    await service.command('POST', `/rules/${id}/enable`);
    await waitFor(() => written() === 10 || undefined);
  });
  afterAll(async () => {
    await service.stop();
    folders.remove();
    await device.stop();
  });

  test('an override outlives kill -9: the device keeps its value, and loses it at its time', async () => {
    const held = await override(42, 12);
    expect(held.body['data']).toMatchObject({ kind: 'override', value: 42, state: 'active', by: { kind: 'user' } });
    const untilMs = Date.parse(String(held.body['data']?.['until']));
    await waitFor(() => written() === 42 || undefined);
    await service.stop('SIGKILL');
    // As if somebody had turned a knob while nobody was there.
    device.holding.writeUInt16BE(7, 20);
    service = await startTestService(folders);
    await waitFor(() => written() === 42 || undefined);
    const history = await service.read('/rules/1/history?limit=1');
    expect(history.text).toContain('"reason":"overridden"');
    await waitFor(() => written() === 10 || undefined, 20_000);
    expect(Date.now()).toBeGreaterThanOrEqual(untilMs);
    const events = await waitFor(async () => {
      const token = await service.token('Admin');
      const found = await service.request('GET', '/api/v1/audit/events?action=automation.point.expire', { token });
      return found.text.includes('automation-point:1:A:1') ? found.text : undefined;
    });
    expect(events).toContain('succeeded');
  });

  test('a signal bounds the actuator at once, an override too, and a release hands it back to the rules', async () => {
    const ownerKind = async (): Promise<string | undefined> => {
      const { text } = await service.read('/points?kind=action');
      return (JSON.parse(text) as { data: { list: { owner: { kind: string } }[] } }).data.list[0]?.owner.kind;
    };
    device.holding.writeUInt16BE(8, 2);
    await waitFor(() => written() === 8 || undefined);
    expect(await ownerKind()).toBe('limit');
    await override(90, 60);
    await waitFor(async () => (await ownerKind()) === 'limit' || undefined);
    expect(written()).toBe(8);
    device.holding.writeUInt16BE(80, 2);
    await waitFor(() => written() === 80 || undefined);
    const { list } = (await service.read('/overrides')).body['data'] as unknown as { list: { override_id: string }[] };
    expect(list).toHaveLength(1);
    const [entry = { override_id: '' }] = list;
    const released = await service.command('DELETE', `/overrides/${entry.override_id}`);
    expect([released.status, released.body['data']]).toEqual([200, { ...entry, state: 'released' }]);
    await waitFor(() => written() === 10 || undefined);
  });

  test('invalid requests are refused, change nothing and are recorded: step, range, point, id, confirmation', async () => {
    const answers = [
      await override(42.5, 5),
      await override(101, 5),
      await service.command('POST', '/points/1/action/9/override', {
        value: 1,
        for_seconds: 5,
        reason: 'nobody there',
      }),
      await service.command('DELETE', '/overrides/1.1.00000000-0000-7000-8000-000000000000'),
      await override(1, 604_801),
      await override(1, 0),
      await service.command('POST', `${setpoint}/override`, { value: 1, for_seconds: 5, reason: 'xy' }),
      await service.command('POST', `${setpoint}/limit`, { for_seconds: 5, reason: 'no bound' }),
      await service.request('POST', `/api/v1/automation/api${setpoint}/override`, {
        body: { value: 1, for_seconds: 5, reason: 'not confirmed' },
      }),
    ];
    expect(
      answers.map(({ status, text }) => [status, (JSON.parse(text) as { error: { code: string } }).error.code]),
    ).toEqual([
      [422, 'invalid-value'],
      [422, 'invalid-value'],
      [404, 'not-found'],
      [404, 'not-found'],
      [400, 'invalid-input'],
      [400, 'invalid-input'],
      [400, 'invalid-input'],
      [400, 'invalid-input'],
      [428, 'confirmation-required'],
    ]);
    expect((await service.read('/overrides')).body['data']).toEqual(wholeList([]));
    // The longest and the shortest are accepted.
    for (const seconds of [604_800, 1]) expect((await override(1, seconds)).status).toBe(200);
    await waitFor(async () => (await service.read('/overrides')).text.includes('"list":[]') || undefined);
  });

  test('the account and the command line tell the same; a device that refuses shows in the list', async () => {
    const ownership = await service.read(`${setpoint}/ownership`);
    const { segments } = ownership.body['data'] as unknown as {
      segments: { from: string; to: string | null; owner: { kind: string } }[];
    };
    expect(new Set(segments.map(({ owner }) => owner.kind))).toEqual(new Set(['rule', 'override', 'limit', 'none']));
    segments.slice(1).forEach(({ from }, before) => expect(segments[before]?.to).toBe(from));
    const env = { SVC_BASE_URL: service.base, SVC_ACCESS_TOKEN: await service.token('Engineer') };
    const told = runCommand('setpoint', ['points', 'ownership', '1', '1'], env);
    expect(told.stdout.trim().split('\n')).toHaveLength(segments.length);
    device.refuse(4);
    const entry = await waitFor(async () => {
      const { list } = (await service.read('/points?kind=action')).body['data'] as unknown as {
        list: { last_error: { code: string } | null; last_command: { result: string } }[];
      };
      return list[0]?.last_command.result === 'failed' ? list[0] : undefined;
    });
    expect(entry).toMatchObject({ last_error: { code: 'refused', message: expect.stringContaining('exception 4') } });
    // Polls are refused too: the channel's last error belongs to the command until the next poll.
    const list = await waitFor(async () => {
      const { list: channels } = (await service.read('/channels')).body['data'] as unknown as {
        list: { last_error: { point_type: string }; traffic: Record<string, number> }[];
      };
      return channels[0]?.last_error.point_type === 'action' ? channels : undefined;
    });
    expect(list).toMatchObject([{ channel: 'plc', last_error: { code: 'refused', point_type: 'action', point: 1 } }]);
    for (const count of ['read', 'sent', 'failed']) expect(list[0]?.traffic[count], count).toBeGreaterThan(0);
    device.refuse(null);
  });

  test('[points §8.4] the rules of a point, and the run of a rule at an instant', async () => {
    const soc = (await service.read('/points/1/measurement/1/rules')).body['data'];
    const use = { rule_id: 1, name: 'ten', enabled: true };
    expect(soc).toMatchObject({ readers: [{ ...use, thresholds: [{ operator: '>', value: 10 }] }], writers: [] });
    expect((await service.read(`${setpoint}/rules`)).body['data']).toMatchObject({ readers: [], writers: [use] });
    expect((await service.read('/points/1/action/9/rules')).status).toBe(404);
    const instant = new Date(Date.now() - 2000).toISOString();
    const { list } = (await service.read(`/rules/1/history?to=${instant}&limit=1`)).body['data'] as unknown as {
      list: { started_at: string }[];
    };
    expect(list).toHaveLength(1);
    expect(list[0]?.started_at && list[0].started_at <= instant).toBe(true);
  });

  test('[points §9] a parameter is changed for good, within its range, and goes back to the file', async () => {
    const parameter = async (): Promise<unknown> => {
      const { text } = await service.read('/instances');
      return (JSON.parse(text) as { data: { parameters: unknown[] } }).data.parameters[0];
    };
    expect(await parameter()).toMatchObject({ value: 50, file_value: 50, changed: false });
    expect((await service.command('PUT', '/parameters/most', { value: 60 })).status).toBe(200);
    expect((await service.command('PUT', '/parameters/most', { value: 101 })).status).toBe(422);
    // [audit §1] A name that no id of a record can hold.
    const rate = `/parameters/${encodeURIComponent('night rate (€/kWh)')}`;
    expect((await service.command('PUT', rate, { value: 0.3 })).body['data']).toMatchObject({ value: 0.3 });
    expect((await service.command('PUT', '/parameters/night%20rate', { value: 0.3 })).status).toBe(404);
    const exported = runCommand('setpoint', ['audit', 'export'], serviceEnvironment(folders)).stdout;
    expect(exported).toContain('automation-parameter:night rate (€/kWh)');
    expect(exported).toMatch(/"resourceId":"automation-parameter:sha256:[0-9a-f]{32}"/);
    expect((await service.command('POST', '/scheduler/reload')).status).toBe(200);
    await service.stop('SIGKILL');
    service = await startTestService(folders);
    expect(await parameter()).toMatchObject({ value: 60, file_value: 50, changed: true });
    expect((await service.command('DELETE', '/parameters/most')).status).toBe(200);
    expect(await parameter()).toMatchObject({ value: 50, changed: false });
  });

  test('the trend of a recorded point contains its observations', async () => {
    const nowMs = Math.ceil(Date.now() / 1000) * 1000;
    const [from, to] = [nowMs - 60_000, nowMs].map((ms) => new Date(ms).toISOString());
    const trend = await waitFor(async () => {
      // Asked without a fraction, answered with milliseconds.
      const span = `from=${from?.replace('.000Z', 'Z')}&to=${to?.replace('.000Z', 'Z')}`;
      const answer = await service.read(`/points/1/measurement/1/series?${span}&buckets=6`);
      const data = answer.body['data'] as unknown as {
        bucket_seconds: number;
        unit: string;
        buckets: { mean: number }[];
      };
      return data.buckets.length > 0 ? data : undefined;
    });
    expect(trend).toMatchObject({ from, to, bucket_seconds: 10, unit: '%' });
    expect(trend.buckets.every(({ mean }) => mean === 50)).toBe(true);
  });

  test('[rules §2.6] two competing rules name each other, and a remedy', async () => {
    const id = Number((await service.command('POST', '/rules', { name: 'twenty' })).body['data']?.['id']);
    // In one cycle the first would win: these two mostly run in different cycles.
    const every = (interval_ms: number) => ({ trigger_config: { type: 'interval', interval_ms } });
    await service.command('PUT', '/rules/1', every(500));
    const { trigger_config } = every(300);
    await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow('x > 10', 20), trigger_config });
    const enabled = await service.command('POST', `/rules/${id}/enable`);
    expect(enabled.text).toContain('the rule \\"ten\\" is enabled and writes setpoint of instance 1 too');
    expect(enabled.text).toContain('priority_hold_ms');
    for (const [rule, other] of [
      [id, 1],
      [1, id],
    ]) {
      const told = await waitFor(async () => {
        const { status, text } = await service.read(`/rules/${rule}/status`);
        // The engine is loading the change, or restarting.
        if (status === 503) return undefined;
        if (status !== 200) throw new Error(`status ${status}: ${text}`);
        const { reasons } = (JSON.parse(text) as { data: { reasons: { code: string }[] } }).data;
        return reasons.find(({ code }) => code === 'takes-turns');
      }, 30_000);
      expect(told).toEqual({ code: 'takes-turns', instance: 1, point: 'setpoint', rule_ids: [other] });
    }
    await service.command('DELETE', `/rules/${id}`);
    await service.command('PUT', '/rules/1', every(100));
  });
});
