/** Driver `mqtt` [points §3.2] through the device layer, against a real broker on loopback. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { driverContract, elapsed, type RunningDevices, runDevices } from '../../testing/driver-contract.ts';
import {
  type BrokerOptions,
  brokerSite,
  certificateFiles,
  type MqttBroker,
  startMqttBroker,
  writeCertificate,
} from '../../testing/mqtt-broker.ts';

const folders = { configDir: '.', dataDir: '.' };

driverContract('mqtt', async () => {
  const broker = await startMqttBroker();
  return {
    siteText: `${brokerSite(broker.port)}
      - { id: 1, name: setpoint, kind: action, unit: kW, scale: 0.5, offset: 10, channel: broker, address: { topic: plant/setpoint } }
`,
    ...folders,
    action: 0,
    measurement: null,
    held: () => {
      const last = broker.messages.findLast(({ topic }) => topic === 'plant/setpoint');
      return last === undefined ? null : Number(last.payload);
    },
    close: () => broker.stop(),
  };
});

const points = `
      - { id: 1, name: load, kind: measurement, unit: kW, scale: 0.1, offset: 5, channel: broker, max_age_ms: 60000, address: { topic: plant/meter, path: "$.p_kw" } }
      - { id: 2, name: voltage, kind: measurement, unit: V, channel: broker, max_age_ms: 60000, address: { topic: plant/meter, path: "$.phases[1]" } }
      - { id: 3, name: brief, kind: measurement, unit: "1", channel: broker, max_age_ms: 300, address: { topic: plant/brief } }
      - { id: 1, name: setpoint, kind: action, unit: kW, channel: broker, address: { topic: plant/setpoint } }
      - { id: 2, name: mode, kind: action, unit: "1", channel: broker, address: { topic: plant/mode, path: "$.mode.value" } }
`;
const [load, voltage, brief, setpoint, mode] = [0, 1, 2, 3, 4];

describe('[points §3.2] mqtt', () => {
  let broker: MqttBroker;
  let devices: RunningDevices;
  const open = async (options: BrokerOptions = {}, more = '', environment: Record<string, string> = {}) => {
    broker = await startMqttBroker(options);
    devices = runDevices(brokerSite(broker.port, more) + points, folders, { mqtt_timeout_ms: 300 }, environment);
  };
  const offline = () =>
    expect.poll(() => devices.layer.channels()[0]?.state, { timeout: 5000, interval: 5 }).toBe('offline');
  const reasons = async () => (await devices.layer.errors()).map(({ index, message }) => [index, message]);
  const payloads = (topic: string) =>
    broker.messages.filter((message) => message.topic === topic).map(({ payload }) => payload);

  beforeEach(() => open().then(() => devices.online()));
  afterEach(async () => {
    await devices.layer.terminate();
    await broker.stop();
  });

  test('one message gives every point of its topic, by path, scaled', async () => {
    await broker.publish('plant/meter', '{"p_kw": 100, "phases": [229, 230.5]}');
    await expect.poll(() => [devices.value(load), devices.value(voltage)]).toEqual([15, 230.5]);
  });

  test('a payload without the number makes the point unavailable; it is not the last value and not zero', async () => {
    await broker.publish('plant/meter', '{"p_kw": 100, "phases": [229, 230.5]}');
    await expect.poll(() => devices.value(load)).toBe(15);
    await broker.publish('plant/meter', '{"p_kw": "100 kW", "phases": [229, 231]}');
    await expect.poll(() => devices.value(voltage)).toBe(231);
    expect(devices.value(load)).toBeNull();
    expect(await reasons()).toEqual([[load, 'the payload has no number at $.p_kw']]);
    await broker.publish('plant/meter', 'no JSON');
    await expect.poll(reasons).toContainEqual([voltage, 'the payload has no number at $.phases[1]']);
    expect(await devices.layer.traffic()).toMatchObject([{ read: 3, unread: 3 }]);
  });

  test.each([
    ['a packet type that does not exist', 'f000'],
    ['a packet of type 0', '0000'],
    ['a length of five bytes', '30ffffffff7f'],
    ['a publish of QoS 3', '360500016100'],
    ['a publish that is shorter than its topic', '3003000961'],
    ['an acknowledgement of nothing', '40020000'],
  ])('[points §3.2] after %s the channel hears again, on a new connection if need be', async (_, hex) => {
    broker.babble(Buffer.from(hex, 'hex'));
    await elapsed(50);
    const publishing = setInterval(() => void broker.publish('plant/meter', '{"p_kw": 70, "phases": [1, 230]}'), 20);
    try {
      await expect.poll(() => devices.value(load)).toBe(12);
      expect(devices.layer.channels()[0]?.state).toBe('online');
    } finally {
      clearInterval(publishing);
    }
  });

  test('a payload over mqtt_payload_bytes is a bad value', async () => {
    await broker.publish('plant/brief', '7');
    await expect.poll(() => devices.value(brief)).toBe(7);
    await broker.publish('plant/brief', `7${' '.repeat(65_536)}`);
    await expect.poll(reasons).toEqual([[brief, 'the payload has 65537 bytes; mqtt_payload_bytes is 65536']]);
    expect(devices.value(brief)).toBeNull();
    await broker.publish('plant/brief', `7${' '.repeat(65_535)}`);
    await expect.poll(() => devices.value(brief)).toBe(7);
  });

  test('a value is stale after max_age_ms', async () => {
    await broker.publish('plant/brief', '7');
    await expect.poll(() => devices.value(brief)).toBe(7);
    await expect.poll(() => devices.value(brief)).toBeNull();
    expect(devices.layer.channels()[0]?.state).toBe('online');
  });

  test('a retained message is ignored, because its age is unknown', async () => {
    await broker.publish('plant/brief', '7', true);
    await expect.poll(() => devices.value(brief)).toBe(7);
    await devices.layer.restart();
    await devices.online();
    await expect
      .poll(reasons)
      .toEqual([
        [brief, 'only a retained message has come, of unknown age; `retained: accept` in the address takes it'],
      ]);
    expect(await devices.layer.errors()).toMatchObject([{ code: 'ignored' }]);
    expect(devices.value(brief)).toBeNull();
  });

  test('commands are published with QoS 1, not retained, as number or at their path', async () => {
    expect(devices.command(setpoint, 12.5)).toBe('accepted');
    expect(devices.command(mode, 2)).toBe('accepted');
    await expect.poll(() => broker.messages.length).toBe(2);
    expect(payloads('plant/setpoint')).toEqual(['12.5']);
    expect(payloads('plant/mode')).toEqual(['{"mode":{"value":2}}']);
    expect(broker.messages.every(({ qos, retain }) => qos === 1 && !retain)).toBe(true);
  });

  test('[points §4.1] a stopped broker: values unavailable, commands refused, none delivered later', async () => {
    await broker.publish('plant/meter', '{"p_kw": 100, "phases": [229, 230.5]}');
    await expect.poll(() => devices.value(load)).toBe(15);
    await broker.stop();
    await offline();
    expect(devices.value(load)).toBeNull();
    expect(devices.command(setpoint, 77)).toBe('offline');
    await broker.start();
    await devices.online();
    expect(devices.value(load)).toBeNull();
    await broker.publish('plant/meter', '{"p_kw": 200, "phases": [229, 230.5]}');
    await expect.poll(() => devices.value(load)).toBe(25);
    expect(payloads('plant/setpoint')).toEqual([]);
  });

  test('[points §3.2] a command that the broker does not confirm fails, ends the connection, and is not sent again', async () => {
    broker.silence(true);
    expect(devices.command(setpoint, 55)).toBe('accepted');
    await offline();
    expect((await devices.layer.counts()).failed).toBe(1);
    broker.silence(false);
    await devices.online();
    await elapsed(100);
    // The silent broker received it once; the next connection does not repeat it.
    expect(payloads('plant/setpoint')).toEqual(['55']);
    expect(devices.command(setpoint, 56)).toBe('accepted');
    await expect.poll(() => payloads('plant/setpoint')).toEqual(['55', '56']);
  });

  test('at most mqtt_in_flight commands are unconfirmed at once; a command that waits longer than its maximum age is dropped', async () => {
    await devices.layer.terminate();
    const limits = { mqtt_timeout_ms: 400, mqtt_in_flight: 1, command_max_age_ms: 100 };
    devices = runDevices(brokerSite(broker.port) + points, folders, limits);
    await devices.online();
    broker.silence(true);
    expect(devices.command(setpoint, 1)).toBe('accepted');
    await expect.poll(() => payloads('plant/setpoint')).toEqual(['1']);
    expect(devices.command(mode, 2)).toBe('accepted');
    await offline();
    broker.silence(false);
    await devices.online();
    await elapsed(100);
    expect(payloads('plant/mode')).toEqual([]);
    expect(await devices.layer.counts()).toEqual({ sent: 0, failed: 1, dropped: 1 });
  });
});

describe('[points §3.2] mqtt connections', () => {
  let broker: MqttBroker;
  let devices: RunningDevices | undefined;
  afterEach(async () => {
    await devices?.layer.terminate();
    await broker.stop();
  });

  test('user and password come from the environment', async () => {
    broker = await startMqttBroker({ user: { name: 'plant', password: 'secret' } });
    const more = ', username_env: SVC_MQTT_USERNAME, password_env: SVC_MQTT_PASSWORD';
    const text = brokerSite(broker.port, more) + points;
    const environment = { SVC_MQTT_USERNAME: 'plant', SVC_MQTT_PASSWORD: 'secret' };
    devices = runDevices(text, folders, {}, environment);
    await devices.online();
    await devices.layer.terminate();
    devices = runDevices(text, folders, {}, { ...environment, SVC_MQTT_PASSWORD: 'wrong' });
    await expect
      .poll(async () => (await devices?.layer.errors())?.map(({ index, message }) => [index, message]))
      .toEqual([load, voltage, brief, setpoint, mode].map((index) => [index, 'Connection refused: Not authorized']));
    expect(devices.layer.channels()[0]?.state).toBe('offline');
  });

  test('client_id: the id at the broker; without one each connection has a new one', async () => {
    broker = await startMqttBroker();
    devices = runDevices(brokerSite(broker.port, ', client_id: bakery') + points, folders);
    await devices.online();
    await devices.layer.terminate();
    devices = runDevices(brokerSite(broker.port) + points, folders);
    await devices.online();
    expect(broker.clientIds).toEqual(['bakery', expect.stringMatching(/^setpoint-[0-9a-f-]{36}$/)]);
  });

  test('two clients with the same id: the reason asks whether another client has it, and the waits between connections grow', async () => {
    broker = await startMqttBroker();
    const text = brokerSite(broker.port, ', client_id: bakery') + points;
    devices = runDevices(text, folders, { reconnect_min_ms: 10, reconnect_max_ms: 5000 });
    await devices.online();
    const rival = runDevices(text, folders, { reconnect_min_ms: 10, reconnect_max_ms: 5000 });
    try {
      await expect
        .poll(async () => (await devices?.layer.errors())?.map(({ message }) => message))
        .toContain('the broker ended the connection; does another client have the client_id bakery?');
      await elapsed(1000);
      expect(broker.clientIds.length).toBeLessThan(25);
    } finally {
      await rival.layer.terminate();
    }
  });

  test('without a broker every point says why', async () => {
    broker = await startMqttBroker();
    devices = runDevices(brokerSite(broker.port) + points, folders);
    await devices.online();
    const reasons = async () => new Set((await devices?.layer.errors())?.map(({ message }) => message));
    broker.silence(true);
    await broker.stop();
    await expect.poll(reasons).toEqual(new Set([`connect ECONNREFUSED 127.0.0.1:${broker.port}`]));
    broker.silence(false);
    await broker.start();
    await devices.online();
    const reasonOf = async (point: number) =>
      (await devices?.layer.errors())?.find(({ index }) => index === point)?.message;
    expect(await reasonOf(load)).toBe('connected again, and no message has come yet');
    expect(await reasonOf(setpoint)).toBe('connected again, and not commanded since');
    await broker.publish('plant/meter', '{"p_kw": 100, "phases": [229, 230.5]}');
    await expect.poll(() => devices?.value(load)).toBe(15);
  });

  test('a broker that asks for a certificate gets that of cert_file', async () => {
    const fixture = join(import.meta.dirname, 'fixture');
    const [key = '', cert = ''] = ['broker-key.pem', 'broker-cert.pem'].map((name) =>
      readFileSync(join(fixture, name), 'utf8'),
    );
    broker = await startMqttBroker({ tls: { key, cert, ca: cert } });
    const secure = (more: string) =>
      (brokerSite(broker.port, `, ca_file: broker-cert.pem${more}`) + points).replace('mqtt://', 'mqtts://');
    const own = { ...folders, configDir: fixture };
    devices = runDevices(secure(''), own);
    await expect
      .poll(async () => (await devices?.layer.errors())?.map(({ message }) => message))
      .toContain('tlsv13 alert certificate required');
    await devices.layer.terminate();
    devices = runDevices(secure(', cert_file: broker-cert.pem, key_file: broker-key.pem'), own);
    await devices.online();
  });

  test('[points §1.3] files that were renewed are used from the next reload on, and not before', async () => {
    const configDir = mkdtempSync(join(tmpdir(), 'setpoint-renewed-'));
    onTestFinished(() => rmSync(configDir, { recursive: true }));
    const tls = writeCertificate(configDir, 'broker');
    broker = await startMqttBroker({ tls });
    const text = (brokerSite(broker.port, `, ${certificateFiles}`) + points).replace('mqtt://', 'mqtts://');
    devices = runDevices(text, { ...folders, configDir });
    await devices.online();
    const ends = () =>
      devices?.layer
        .certificates()
        .map(({ what, validity }) => [what, new Date(validity?.endMs ?? 0).getUTCFullYear()]);
    expect(ends()).toEqual([
      ['cert.pem of channel broker', 2126],
      ['cert.pem of channel broker', 2126],
      ['the certificate of the broker of channel broker', 2126],
    ]);
    const same = devices.layer.prepare(devices.site);
    expect(same.renewed).toEqual([]);
    await same.adopt();
    expect([devices.layer.channels()[0]?.state, broker.clientIds.length]).toEqual(['online', 1]);
    await broker.stop();
    Object.assign(tls, writeCertificate(configDir, 'renewed'));
    await broker.start();
    const layer = devices.layer;
    await expect.poll(async () => (await layer.errors())[0]?.message).toMatch(/^self-signed certificate/);
    const renewed = devices.layer.prepare(devices.site);
    expect(renewed.renewed).toEqual(['broker']);
    await renewed.adopt();
    await devices.online();
  });

  test('over TLS the broker must be known by ca_file', async () => {
    const fixture = join(import.meta.dirname, 'fixture');
    const [key, cert] = ['broker-key.pem', 'broker-cert.pem'].map((name) => readFileSync(join(fixture, name), 'utf8'));
    broker = await startMqttBroker({ tls: { key: key ?? '', cert: cert ?? '' } });
    const secure = (more: string) => (brokerSite(broker.port, more) + points).replace('mqtt://', 'mqtts://');
    devices = runDevices(secure(''), folders);
    await elapsed(300);
    expect(devices.layer.channels()[0]?.state).toBe('offline');
    await devices.layer.terminate();
    devices = runDevices(secure(', ca_file: broker-cert.pem'), { ...folders, configDir: fixture });
    await devices.online();
    expect(devices.command(setpoint, 4)).toBe('accepted');
    await expect.poll(() => broker.messages.map(({ payload }) => payload)).toEqual(['4']);
  });

  test('a refused subscription leaves its points unavailable and the others alone', async () => {
    broker = await startMqttBroker({ forbidden: ['plant/brief'] });
    devices = runDevices(brokerSite(broker.port) + points, folders);
    await devices.online();
    await broker.publish('plant/brief', '7');
    await broker.publish('plant/meter', '{"p_kw": 100, "phases": [229, 230.5]}');
    await expect.poll(() => devices?.value(voltage)).toBe(230.5);
    expect(devices.value(brief)).toBeNull();
    const errors = await devices.layer.errors();
    expect(errors.map(({ index, message }) => [index, message])).toEqual([
      [brief, 'the broker refuses the subscription to plant/brief'],
    ]);
  });

  test('the will is published when the connection is lost, not at a clean stop', async () => {
    broker = await startMqttBroker();
    const text = brokerSite(broker.port, ', will: { topic: setpoint/state, payload: gone }') + points;
    devices = runDevices(text, folders);
    await devices.online();
    await devices.layer.stop();
    await elapsed(100);
    expect(broker.messages).toEqual([]);
    devices = runDevices(text, folders, { mqtt_timeout_ms: 100 });
    await devices.online();
    broker.silence(true);
    devices.command(setpoint, 1);
    await expect
      .poll(() => broker.messages.some(({ topic, payload }) => topic === 'setpoint/state' && payload === 'gone'))
      .toBe(true);
  });
});

test('`mqtt_timeout_ms`: stopping waits no longer for a silent broker', async () => {
  const broker = await startMqttBroker();
  const point =
    '      - { id: 2, name: kept, kind: measurement, unit: kW, channel: broker, address: { topic: d/kept } }\n';
  const site = brokerSite(broker.port, ', status: { topic: setpoint/state }') + point;
  const devices = runDevices(site, folders, { mqtt_timeout_ms: 50 });
  await devices.online();
  await expect.poll(() => broker.messages.length).toBe(1);
  broker.silence(true);
  await devices.layer.stop();
  await broker.stop();
});

test.each(['forbidden', 'fatal'])(
  '[points §3.2] the channel works on a broker where reading the status topic is %s',
  async (how) => {
    const broker = await startMqttBroker({ [how]: ['setpoint/state'] });
    const point = `
      - { id: 2, name: kept, kind: measurement, unit: kW, channel: broker, address: { topic: d/kept } }
`;
    const devices = runDevices(brokerSite(broker.port, ', status: { topic: setpoint/state }') + point, folders, {
      reconnect_min_ms: 10,
    });
    await devices.online();
    const states = () => broker.messages.map(({ payload }) => payload);
    // Two connections end with their will. The third one only writes the topic, and stays.
    const ended = how === 'fatal' ? ['online', 'offline', 'online', 'offline'] : [];
    await expect.poll(states).toEqual([...ended, 'online']);
    const valueNow = async () => {
      await broker.publish('d/kept', '7');
      return devices.value(0);
    };
    await expect.poll(valueNow).toBe(7);
    await elapsed(300);
    expect([devices.value(0), broker.connections()]).toEqual([7, 1]);
    await devices.layer.terminate();
    await broker.stop();
  },
);
