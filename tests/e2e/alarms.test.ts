/** Alarms of a running service [alarms §1]: raised, acknowledged, shelved, forwarded, and kept across a kill. */

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acknowledgedMax, shelveSecondsMax } from '../../src/api/alarms.ts';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { type ModbusDevice, startModbusDevice } from '../../src/testing/modbus-server.ts';
import {
  editorFlow,
  programFile,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestFolders,
  type TestService,
  testFolders,
  waitFor,
} from './running-service.ts';

const site = (port: number): string => `schema: svc.site.v1
site: { id: tank-farm, name: Tank farm, timezone: UTC }
channels:
  - { id: plc, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 50, timeout_ms: 1000, word_order: big }
instances:
  - id: 1
    name: plant
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: plc, record: true, invalid: [65535], address: { table: holding, register: 0, type: uint16 } }
      - { id: 1, name: setpoint, kind: action, unit: kW, min: 0, max: 100, step: 1, channel: plc, address: { table: holding, register: 10, type: uint16 } }
alarms:
  - { id: soc-high, name: Battery full, point: { instance: 1, point: 1 }, above: 90, deadband: 5, priority: high, message: Stop charging. }
`;

interface Alarm {
  readonly id: string;
  readonly state: string;
  readonly count: number;
  readonly first_out: boolean;
  readonly acknowledged_by: { readonly id: string } | null;
}

describe('[alarms §4] alarms of a running service', () => {
  let device: ModbusDevice;
  let folders: TestFolders;
  let service: TestService;
  let receiver: Server;
  /** The bodies that the receiver accepted. */
  const taken: { alarm: string; state: string; site: string }[] = [];
  let refusals = 2;
  /** The addresses that were got. */
  const beats: string[] = [];
  const alarms = async (query = ''): Promise<Alarm[]> =>
    ((await service.read(`/alarms${query}`)).body['data'] as unknown as { list: Alarm[] }).list;
  const alarm = async (id: string): Promise<Alarm | undefined> => (await alarms()).find((each) => each.id === id);
  const inState = (id: string, state: string, deadlineMs = 20_000): Promise<Alarm> =>
    waitFor(async () => {
      const found = await alarm(id);
      return found?.state === state ? found : undefined;
    }, deadlineMs);

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (request.method === 'GET') {
          beats.push(request.url ?? '');
          response.writeHead(200).end();
        } else if (refusals-- > 0) response.writeHead(503).end();
        else {
          taken.push(JSON.parse(Buffer.concat(chunks).toString('utf8')));
          response.writeHead(204).end();
        }
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    device = await startModbusDevice();
    device.holding.writeUInt16BE(50, 0);
    folders = testFolders(site(device.port));
    const { port } = receiver.address() as AddressInfo;
    writeFileSync(
      join(folders.config, 'service.yaml'),
      `alarms: { interval_ms: 100, probe_interval_ms: 1000, channel_offline_ms: 300, rule_ms: 500, notify_retry_ms: 50, notify_retry_max_ms: 500, notify_failing_ms: 500, history_not_stored_ms: 500, engine_overloaded_ms: 2000, input_unusable_ms: 500, command_failing_ms: 500, heartbeat_ms: 1000 }
history: { block_ms: 500 }
notify: { urls: ["http://127.0.0.1:${port}/alarms"], heartbeat: "http://127.0.0.1:${port}/beat" }
`,
    );
    service = await startTestService(folders);
  });
  afterAll(async () => {
    await service.stop();
    receiver.close();
    folders.remove();
    await device.stop();
  });

  test('a threshold raises its alarm once; an engineer may acknowledge it, a viewer may not, and its end is recorded', async () => {
    const threshold = { kind: 'above', value: 90, deadband: 5 };
    expect(await alarm('soc-high')).toMatchObject({ state: 'normal', count: 0, threshold });
    device.holding.writeUInt16BE(95, 0);
    expect(await inState('soc-high', 'active-unacknowledged')).toMatchObject({ count: 1, first_out: true });
    const path = '/api/v1/automation/api/alarms/soc-high/acknowledge';
    const refused = await service.request('POST', path, {
      token: await service.token('Viewer'),
      body: { confirmed: true },
      headers: { 'x-svc-confirmed': 'true' },
    });
    expect(refused.status).toBe(403);
    const answer = await service.command('POST', '/alarms/soc-high/acknowledge');
    expect(answer.body['data']).toMatchObject({ state: 'active-acknowledged', count: 1 });
    device.holding.writeUInt16BE(20, 0);
    await inState('soc-high', 'normal');
    const { list } = (await service.read('/alarms/history')).body['data'] as unknown as {
      list: { id: string; state: string; by: unknown }[];
    };
    expect(list.filter(({ id }) => id === 'soc-high').map(({ state, by }) => [state, by !== null])).toEqual([
      ['active-unacknowledged', false],
      ['active-acknowledged', true],
      ['normal', false],
    ]);
    const token = await service.token('Admin');
    const events = await service.request('GET', '/api/v1/audit/events?action=automation.alarm.acknowledge', { token });
    expect(events.text).toContain('automation-alarm:soc-high');
  });

  test('every change reaches the receiver in order, although it refused at first', async () => {
    const own = await waitFor(() => {
      const states = taken.filter(({ alarm: id }) => id === 'soc-high').map(({ state }) => state);
      return states.length >= 3 ? states : undefined;
    });
    expect(own).toEqual(['active-unacknowledged', 'active-acknowledged', 'normal']);
    expect(taken[0]).toMatchObject({ site: 'tank-farm', name: 'Battery full', priority: 'high' });
  });

  test('shelved alarms are hidden and return at their time, by the command line too', async () => {
    device.holding.writeUInt16BE(95, 0);
    await inState('soc-high', 'active-unacknowledged');
    const env = { ...process.env, SVC_BASE_URL: service.base, SVC_ACCESS_TOKEN: await service.token('Engineer') };
    const shelve = ['alarms', 'shelve', 'soc-high', '--for', '4', '--reason', 'a test of ours', '--confirmed'];
    const done = runCommand('setpoint', shelve, env);
    expect([done.status, done.stdout.includes('shelved')]).toEqual([0, true]);
    expect(await alarms('?state=shelved')).toHaveLength(1);
    expect((await service.command('POST', '/alarms/soc-high/acknowledge')).status).toBe(422);
    expect(await inState('soc-high', 'active-unacknowledged')).toMatchObject({ count: 2 });
    const listed = runCommand('setpoint', ['alarms', 'list'], env);
    expect(listed.stdout).toMatch(/^soc-high\thigh\t.*\tBattery full\tabove 90\tStop charging\.$/m);
    for (const seconds of [0, shelveSecondsMax + 1]) {
      const body = { for_seconds: seconds, reason: 'too short or too long' };
      expect((await service.command('POST', '/alarms/soc-high/shelve', body)).status).toBe(400);
    }
    const longest = { for_seconds: shelveSecondsMax, reason: 'as long as it may be' };
    expect((await service.command('POST', '/alarms/soc-high/shelve', longest)).status).toBe(200);
    const back = runCommand('setpoint', ['alarms', 'unshelve', 'soc-high', '--confirmed'], env);
    expect([back.status, back.stdout]).toEqual([0, expect.stringMatching(/^soc-high\thigh\tactive-unacknowledged\t/)]);
    expect((await service.command('POST', '/alarms/soc-high/unshelve')).status).toBe(422);
    expect((await service.command('POST', '/alarms/soc-high/shelve', longest)).status).toBe(200);
  });

  test('an unreachable device, a skipped rule, an override and a killed process raise alarms', async () => {
    const id = Number((await service.command('POST', '/rules', { name: 'keep' })).body['data']?.['id']);
    const trigger_config = { type: 'interval', interval_ms: 100 };
    await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow('x > 10', 10), trigger_config });
    await service.command('POST', `/rules/${id}/enable`);
    const body = { value: 7, for_seconds: 600, reason: 'by hand' };
    expect((await service.command('POST', '/points/1/action/1/override', body)).status).toBe(200);
    await inState('override-active', 'active-unacknowledged');
    await device.stop();
    await inState('channel-offline:plc', 'active-unacknowledged');
    expect(await inState(`rule-skipped:${id}`, 'active-unacknowledged')).toMatchObject({ first_out: false });
    const skipped = `rule-skipped:${id}`;
    const tooMany = Array.from({ length: acknowledgedMax + 1 }, (_, at) => `rule-skipped:${at}`);
    for (const alarm_ids of [[], ['soc-high', 'soc-high'], tooMany])
      expect((await service.command('POST', '/alarms/acknowledge', { alarm_ids })).status).toBe(400);
    const most = { alarm_ids: tooMany.slice(1) };
    const { acknowledged, left } = (await service.command('POST', '/alarms/acknowledge', most)).body['data'] ?? {};
    expect([acknowledged, left?.['length']]).toEqual([[skipped], acknowledgedMax - 1]);
    const env = { ...process.env, SVC_BASE_URL: service.base, SVC_ACCESS_TOKEN: await service.token('Engineer') };
    const flood = ['alarms', 'acknowledge-many', '--ids', JSON.stringify([skipped, 'soc-high']), '--confirmed'];
    expect(runCommand('setpoint', flood, env).stdout).toBe(
      `nothing to acknowledge: ${skipped}\nnothing to acknowledge: soc-high\n`,
    );
    const token = await service.token('Admin');
    const found = await service.request('GET', '/api/v1/audit/events?action=automation.alarm.acknowledge-many', {
      token,
    });
    expect([0, 1, 2, 3].map((at) => found.body['items']?.[at]?.['outcome'])).toEqual([
      'succeeded',
      'accepted',
      'succeeded',
      'accepted',
    ]);
    // The ids are in its details, which the export includes.
    expect(runCommand('setpoint', ['audit', 'export'], serviceEnvironment(folders)).stdout).toContain(
      `rule-skipped:${acknowledgedMax}`,
    );
    await device.start();
    await inState('channel-offline:plc', 'cleared-unacknowledged', 30_000);
    await service.stop('SIGKILL');
    service = await startTestService(folders);
    await inState('engine-restarted', 'active-unacknowledged');
    expect((await alarm('override-active'))?.count).toBe(1);
  });

  test('[alarms §2.2] history that cannot be stored raises an alarm until it can', async () => {
    const other = new DatabaseSync(join(folders.data, 'history.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    device.holding.writeUInt16BE(21, 0);
    await inState('history-not-stored', 'active-unacknowledged', 30_000);
    other.exec('ROLLBACK');
    other.close();
    await inState('history-not-stored', 'cleared-unacknowledged');
  });

  test('[alarms §2.2] an input without a usable value raises an alarm, also for a rule that would only run on a change', async () => {
    const id = Number((await service.command('POST', '/rules', { name: 'react' })).body['data']?.['id']);
    const point_refs = [{ instance: 1, point_type: 'measurement', point: 1 }];
    await service.command('PUT', `/rules/${id}`, {
      flow_json: editorFlow('x > 10', 10),
      trigger_config: { type: 'on_change', point_refs, time_deadband_ms: 0, value_deadband: null },
    });
    await service.command('POST', `/rules/${id}/enable`);
    device.holding.writeUInt16BE(65_535, 0);
    expect(await inState('input-unusable:1:measurement:1', 'active-unacknowledged')).toMatchObject({
      name: 'plant soc has no usable value',
      message: expect.stringContaining('react'),
    });
    device.holding.writeUInt16BE(20, 0);
    await inState('input-unusable:1:measurement:1', 'cleared-unacknowledged');
    expect((await service.command('DELETE', `/rules/${id}`)).status).toBe(200);
  });

  test('[alarms §2.2] a register that refuses its commands, while others are read, raises an alarm until it takes one', async () => {
    device.keep([10]);
    const body = { value: 9, for_seconds: 600, reason: 'by hand' };
    expect((await service.command('POST', '/points/1/action/1/override', body)).status).toBe(200);
    expect(await inState('command-failing:1:action:1', 'active-unacknowledged')).toMatchObject({
      name: 'The last command to plant setpoint was not carried out',
      message: expect.stringMatching(/exception 2.*\. The device does not have the commanded value/),
    });
    device.keep([]);
    expect((await service.command('POST', '/points/1/action/1/override', { ...body, value: 8 })).status).toBe(200);
    await inState('command-failing:1:action:1', 'cleared-unacknowledged');
  });

  test('[alarms §2.2] an engine that misses ticks raises an alarm until it keeps up', async () => {
    service.process.kill('SIGSTOP');
    await sleep(systemClock, 1000);
    service.process.kill('SIGCONT');
    await inState('engine-overloaded', 'active-unacknowledged');
    await inState('engine-overloaded', 'cleared-unacknowledged');
  });

  test('[alarms §5] each receiver is sent a test by hand, which says who accepted it', async () => {
    const send = (...more: string[]) =>
      promisify(execFile)(process.execPath, [programFile('setpoint'), 'site', 'test-receivers', ...more], {
        env: serviceEnvironment(folders),
      });
    expect((await send()).stdout).toMatch(
      /^notify\.urls\[0\] \(127\.0\.0\.1:\d+\): accepted\nnotify\.heartbeat \(127\.0\.0\.1:\d+\): accepted\n$/,
    );
    const sent = { alarm: 'notification-test', state: 'normal', site: 'tank-farm' };
    expect(taken).toContainEqual(expect.objectContaining(sent));
    refusals = Number.POSITIVE_INFINITY;
    await expect(send('--json')).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"problem":"status 503"'),
      stderr: '{"error":{"code":"command-failed","message":"1 receiver did not accept the test"}}\n',
    });
  });

  test('[alarms §5.1] a monitor gets a heartbeat while changes of alarms can be stored, and none while they cannot', async () => {
    const more = (count: number): Promise<unknown> => {
      const before = beats.length;
      return waitFor(() => beats.length >= before + count || undefined, 30_000);
    };
    await more(2);
    expect(new Set(beats)).toEqual(new Set(['/beat']));
    const database = new DatabaseSync(join(folders.data, 'site.sqlite'));
    database.exec('BEGIN IMMEDIATE');
    // A look that waits for the database is late, and what it finds cannot be stored.
    await waitFor(async () => {
      const before = beats.length;
      await sleep(systemClock, 3000);
      return beats.length === before || undefined;
    }, 40_000);
    // The process itself is well.
    expect((await service.request('GET', '/health', { token: null })).status).toBe(200);
    database.exec('ROLLBACK');
    database.close();
    await more(2);
  }, 90_000);

  test('[alarms §2.2] a receiver that accepts nothing raises an alarm until it does, and then gets that one too', async () => {
    refusals = Number.POSITIVE_INFINITY;
    await device.stop();
    expect(await inState('notification-failing', 'active-unacknowledged')).toMatchObject({
      message: expect.stringMatching(/^notify\.urls\[0\] \(127\.0\.0\.1:\d+\): status 503\. What it missed/),
    });
    refusals = 0;
    await inState('notification-failing', 'cleared-unacknowledged');
    await device.start();
    const states = () => taken.filter(({ alarm: id }) => id === 'notification-failing').map(({ state }) => state);
    await waitFor(async () => states().length === 2 || undefined, 20_000);
    expect(states()).toEqual(['active-unacknowledged', 'cleared-unacknowledged']);
  });

  test('[alarms §2.2] a rule that cannot run on the changed site raises an alarm until it can', async () => {
    const id = Number((await service.command('POST', '/rules', { name: 'fill' })).body['data']?.['id']);
    const trigger_config = { type: 'interval', interval_ms: 1000 };
    await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow('x > 10', 10), trigger_config });
    await service.command('POST', `/rules/${id}/enable`);
    const restarted = async (text: string): Promise<void> => {
      await service.stop();
      folders.write('site.yaml', text);
      service = await startTestService(folders);
    };
    await restarted(site(device.port).replace('id: 1, name: setpoint', 'id: 2, name: setpoint'));
    expect(await inState(`rule-not-runnable:${id}`, 'active-unacknowledged')).toMatchObject({
      name: 'Rule "fill" is enabled and cannot run',
      message: expect.stringMatching(/^Its flow is not valid for this site/),
    });
    await restarted(site(device.port));
    await inState(`rule-not-runnable:${id}`, 'cleared-unacknowledged');
  });

  test('[alarms §2.2] an edit with which the service would not start again raises an alarm until it is corrected', async () => {
    expect((await alarm('configuration-invalid'))?.state ?? 'normal').toBe('normal');
    // A valid edit that is not in force yet raises nothing.
    folders.write('site.yaml', site(device.port).replace('Battery full', 'Battery is full'));
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect((await alarm('configuration-invalid'))?.state ?? 'normal').toBe('normal');
    folders.write('site.yaml', site(device.port).replace('kind: action', 'kind: acton'));
    await inState('configuration-invalid', 'active-unacknowledged');
    expect(service.logs()).toMatch(/site\.yaml:\d+: .*kind.*would refuse its configuration/);
    folders.write('site.yaml', site(device.port));
    await inState('configuration-invalid', 'cleared-unacknowledged');
    folders.write('service.yaml', 'alarms: { interval: 100 }');
    await inState('configuration-invalid', 'active-unacknowledged');
  });

  test('invalid requests are refused: an unknown alarm, an unknown state, a window that ends before it begins', async () => {
    const answers = [
      await service.command('POST', '/alarms/nothing/acknowledge'),
      await service.read('/alarms?state=asleep'),
      await service.read('/alarms/history?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 400, 400]);
  });
});
