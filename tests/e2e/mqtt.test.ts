/** A broker that stops and comes back under load [rules §6], [points §4.3], [points §3.2]: nothing late, nothing kept, no lasting loss. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { certificateFiles, startMqttBroker, writeCertificate } from '../../src/testing/mqtt-broker.ts';
import { startTestService, testFolders, waitFor } from './running-service.ts';

const siteWith = (port: number): string => `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: UTC }
channels:
  - { id: broker, driver: mqtt, url: "mqtt://127.0.0.1:${port}", keep_alive_s: 2 }
instances:
  - id: 1
    name: battery
    points:
      - { id: 1, name: clock, kind: measurement, unit: ms, channel: broker, max_age_ms: 1000, address: { topic: plant/clock, path: "$.ms" } }
      - { id: 1, name: echo, kind: action, unit: ms, channel: broker, address: { topic: plant/echo } }
`;
/** Copies the time that the plant sent to the action point: each command carries the time of its decision. */
const echoFlow = {
  nodes: [
    ['start', 'start', { wires: { default: ['read'] } }],
    [
      'read',
      'input',
      {
        variables: [{ name: 'ms', instance: 1, point_type: 'measurement', point: 1 }],
        wires: { default: ['act'] },
      },
    ],
    ['act', 'action', { writes: [{ instance: 1, point: 1, value: 'ms' }], wires: { default: ['end'] } }],
    ['end', 'end', {}],
  ].map(([id, type, config]) => ({ id, type, position: { x: 0, y: 0 }, data: { config } })),
  edges: [],
};
/** A measurement is valid for a second, and so is a command. */
const latenessMaxMs = 2000;

test('[points §3.2] a broker stopped and restarted under load: no late command, values gone and back, memory flat', async () => {
  const broker = await startMqttBroker();
  const service = await startTestService(testFolders(siteWith(broker.port)));
  const loading = new AbortController();
  const load = (async () => {
    while (!loading.signal.aborted) {
      for (let index = 0; index < 20; index++)
        await broker.publish('plant/clock', `{"ms": ${systemClock.monotonicMs()}}`);
      await new Promise((resolve) => void systemClock.after(20, () => resolve(null)));
    }
  })();
  const echoes = () => broker.messages.filter(({ topic }) => topic === 'plant/echo');
  const residentKb = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.process.pid}/status`, 'utf8'))?.[1]);
  const quality = async () => {
    const { data } = (await service.read('/rules/1/variables')).body as { data?: { variables: { quality: string }[] } };
    return data?.variables[0]?.quality;
  };
  try {
    await service.command('POST', '/rules', { name: 'echo' });
    const trigger = {
      type: 'on_change',
      point_refs: [{ instance: 1, point_type: 'measurement', point: 1 }],
      time_deadband_ms: 0,
    };
    const updated = await service.command('PUT', '/rules/1', { flow_json: echoFlow, trigger_config: trigger });
    expect(updated.status, updated.text).toBe(200);
    await service.command('POST', '/rules/1/enable');
    const rounds: number[] = [];
    for (let round = 0; round < 4; round++) {
      const before = echoes().length;
      await waitFor(() => echoes().length > before + 200 || undefined, 20_000);
      expect(await quality()).toBe('good');
      rounds.push(residentKb());
      await broker.stop();
      await waitFor(async () => (await quality()) !== 'good' || undefined);
      const silent = echoes().length;
      await new Promise((resolve) => void systemClock.after(1500, () => resolve(null)));
      expect(echoes().length).toBe(silent);
      await broker.start();
    }
    const late = echoes().filter(({ payload, atMs }) => atMs - Number(payload) > latenessMaxMs);
    expect(late).toEqual([]);
    // The first round warms up; after it, four restarts and thousands of messages grow memory by less than 32 MB.
    expect((rounds.at(-1) ?? 0) - (rounds[1] ?? 0)).toBeLessThan(32 * 1024);
  } finally {
    loading.abort();
    await load;
    await service.stop();
    service.folders.remove();
    await broker.stop();
  }
});

test('[points §3.5] points and rules are published for Home Assistant: discovery, states as they change, and the end', async () => {
  const broker = await startMqttBroker();
  const folders = testFolders(siteWith(broker.port).replace('keep_alive_s: 2', 'publish: home-assistant'));
  const service = await startTestService(folders);
  const last = (topic: string): string | undefined =>
    broker.messages.findLast((message) => message.topic === topic)?.payload;
  try {
    await waitFor(() => last('setpoint/plant-1/1/measurement/1'));
    expect(last('setpoint/plant-1/status')).toBe('online');
    expect(JSON.parse(last('homeassistant/sensor/setpoint_plant-1/1_measurement_1/config') ?? '')).toMatchObject({
      name: 'clock',
      state_topic: 'setpoint/plant-1/1/measurement/1',
    });
    // The service may publish before it has subscribed to the point's topic.
    await waitFor(async () => {
      await broker.publish('plant/clock', '{"ms": 42}');
      return last('setpoint/plant-1/1/measurement/1') === '42' || undefined;
    });
    await waitFor(() => last('setpoint/plant-1/1/measurement/1') === 'None' || undefined);
    await service.command('POST', '/rules', { name: 'echo' });
    await waitFor(() => last('setpoint/plant-1/rule/1'));
    expect(last('homeassistant/sensor/setpoint_plant-1/rule_1/config')).toContain('"echo"');
    await service.command('DELETE', '/rules/1', { confirmed: true });
    await waitFor(() => last('homeassistant/sensor/setpoint_plant-1/rule_1/config') === '' || undefined);
    // A broker that restarts kept nothing: everything is published again.
    const before = broker.messages.length;
    await broker.stop();
    await broker.start();
    await waitFor(
      () => broker.messages.slice(before).some(({ topic }) => topic.endsWith('/1_measurement_1/config')) || undefined,
      20_000,
    );
    await service.stop();
    expect(last('setpoint/plant-1/status')).toBe('offline');
  } finally {
    await service.stop();
    await broker.stop();
    folders.remove();
  }
}, 60_000);

test('[points §3.5] a reload starts and ends publishing; after a restart the broker has no messages of a point that was removed', async () => {
  const broker = await startMqttBroker();
  const folders = testFolders(siteWith(broker.port));
  const publishing = siteWith(broker.port).replace('keep_alive_s: 2', 'publish: home-assistant');
  const last = (topic: string): string | undefined =>
    broker.messages.findLast((message) => message.topic === topic)?.payload;
  const echo = 'homeassistant/sensor/setpoint_plant-1/1_action_1/config';
  let service = await startTestService(folders);
  try {
    folders.write('site.yaml', publishing);
    expect((await service.command('POST', '/site/reload')).status).toBe(200);
    await waitFor(() => last(echo));
    expect(last('setpoint/plant-1/status')).toBe('online');
    folders.write('site.yaml', siteWith(broker.port));
    expect((await service.command('POST', '/site/reload')).status).toBe(200);
    await waitFor(() => last('setpoint/plant-1/status') === 'offline' || undefined);
    await service.stop();
    await broker.publish('setpoint/plant-1/1/note/1', 'of the owner', true);
    folders.write(
      'site.yaml',
      publishing
        .split('\n')
        .filter((line) => !line.includes('name: echo'))
        .join('\n'),
    );
    service = await startTestService(folders);
    await waitFor(() => last(echo) === '' || undefined);
    await waitFor(() => last('setpoint/plant-1/1/action/1') === '' || undefined);
    expect(broker.messages.some(({ topic }) => topic === 'setpoint/plant-1/1/note/1')).toBe(false);
  } finally {
    await service.stop();
    folders.remove();
    await broker.stop();
  }
});

test('[points §1.3] renewed certificates: a reload has channel and publishing use them, notifications need none, and a broken one is noticed', async () => {
  const folders = testFolders('');
  const tls = writeCertificate(folders.config, 'broker');
  const broker = await startMqttBroker({ tls });
  const site = siteWith(broker.port)
    .replace('mqtt://', 'mqtts://')
    .replace('keep_alive_s: 2', `publish: home-assistant, ${certificateFiles}`);
  folders.write('site.yaml', site);
  folders.write(
    'service.yaml',
    `alarms: { interval_ms: 100, probe_interval_ms: 1000, channel_offline_ms: 0, notify_retry_ms: 100, notify_retry_max_ms: 100 }
notify: { mqtt: { channel: broker, topic: alarms } }
`,
  );
  const service = await startTestService(folders);
  const published = (topic: string) => broker.messages.filter((message) => message.topic === topic);
  const notified = () =>
    published('alarms').map(({ payload }) => JSON.parse(payload) as { alarm: string; state: string });
  const states = () => published('setpoint/plant-1/status').map(({ payload }) => payload);
  const changed = async () => (await service.read('/site/changes')).body['data']?.['channels'];
  const alarm = async (id: string) => {
    const { data } = (await service.read('/alarms')).body as { data?: { list: { id: string; state: string }[] } };
    return data?.list.find((each) => each.id === id)?.state;
  };
  try {
    await waitFor(() => states().at(-1) === 'online' || undefined);
    expect(await changed()).toEqual({ added: [], changed: [] });
    await broker.stop();
    Object.assign(tls, writeCertificate(folders.config, 'renewed'));
    await broker.start();
    // Notifications use the new certificate at once, channel and publishing the old one. The broker publishes the will.
    await waitFor(() => notified().some(({ alarm: id }) => id === 'channel-offline:broker') || undefined);
    expect(states()).toEqual(['online', 'offline']);
    expect(await changed()).toEqual({ added: [], changed: ['broker'] });
    const reloaded = await service.command('POST', '/site/reload');
    expect(reloaded.body['data']?.['channels'], reloaded.text).toEqual({ added: [], changed: ['broker'] });
    await waitFor(() => states().at(-1) === 'online' || undefined);
    await waitFor(() => notified().some(({ state }) => state === 'cleared-unacknowledged') || undefined);
    expect(await changed()).toEqual({ added: [], changed: [] });
    writeCertificate(folders.config, 'ended');
    expect((await service.command('POST', '/site/reload')).status).toBe(200);
    await waitFor(async () => (await alarm('certificate-expiring')) === 'active-unacknowledged' || undefined);
    writeCertificate(folders.config, 'renewed');
    expect((await service.command('POST', '/site/reload')).status).toBe(200);
    await waitFor(async () => (await alarm('certificate-expiring')) === 'cleared-unacknowledged' || undefined);
    folders.write('cert.pem', 'no certificate');
    await waitFor(async () => (await alarm('configuration-invalid')) === 'active-unacknowledged' || undefined);
    expect(service.logs()).toContain('cert.pem contains no PEM certificate, or one that cannot be read');
  } finally {
    await service.stop();
    await broker.stop();
    folders.remove();
  }
});
