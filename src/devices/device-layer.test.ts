/** The start of the device layer and its thread: what cannot run is refused in one line, a thread that dies begins a new generation. */
import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { type Log, silentLog } from '../base/log.ts';
import { createCommandWriter } from '../points/command-slots.ts';
import { createLiveTableReader } from '../points/live-table.ts';
import { createPointMemory } from '../points/shared-memory.ts';
import { readSite } from '../site/site.ts';
import { createSnapshot, qualityWord, usable } from '../site/snapshot.ts';
import { startModbusDevice } from '../testing/modbus-server.ts';
import { type DeviceLayerParts, startDeviceLayer } from './device-layer.ts';
import { deviceLimits } from './limits.ts';

const siteOf = (channels: string, points = '[]') =>
  readSite(
    `schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels: ${channels}
instances: [{ id: 1, name: a, points: ${points} }]
`,
    'site.yaml',
  );

function start(site: ReturnType<typeof siteOf>, dataDir = '.', idle = false, more: Partial<DeviceLayerParts> = {}) {
  const memory = createPointMemory(site.points, site.channels.length);
  const parts = {
    site,
    memory,
    clock: systemClock,
    log: silentLog,
    logLevel: 'silent',
    limits: deviceLimits,
    idle,
    ...more,
  } as const;
  return { memory, layer: startDeviceLayer({ ...parts, configDir: dataDir, dataDir, secret: () => undefined }) };
}

test('[points §5] a secret that is not in the environment stops the start with its name', () => {
  const site = siteOf('[{ id: broker, driver: mqtt, url: "mqtt://127.0.0.1:1883", username_env: SVC_MQTT_USER }]');
  expect(() => start(site)).toThrow('channel broker: the environment has no variable SVC_MQTT_USER');
});

test('[points §5] a certificate that cannot be read stops the start with its name', () => {
  const site = siteOf('[{ id: broker, driver: mqtt, url: "mqtts://127.0.0.1:8883", ca_file: none.pem }]');
  expect(() => start(site)).toThrow('channel broker: the file none.pem cannot be read: ENOENT');
});

test('[points §3.2] certificate files without a usable certificate or key stop the start', () => {
  const folder = join(import.meta.dirname, 'driver', 'fixture');
  const files = mkdtempSync(join(tmpdir(), 'device-layer-'));
  for (const name of ['broker-cert.pem', 'broker-key.pem']) copyFileSync(join(folder, name), join(files, name));
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(join(files, 'other-key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const secret = { cipher: 'aes-256-cbc', passphrase: 'secret' };
  writeFileSync(join(files, 'locked-key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem', ...secret }));
  const started = (settings: string) =>
    start(siteOf(`[{ id: broker, driver: mqtt, url: "mqtts://127.0.0.1:1", ${settings} }]`), files);
  const pair = (cert: string, key: string): string => `cert_file: ${cert}, key_file: ${key}`;
  expect(() => started('ca_file: broker-key.pem')).toThrow(
    'channel broker: broker-key.pem contains no PEM certificate, or one that cannot be read',
  );
  expect(() => started(pair('broker-key.pem', 'broker-key.pem'))).toThrow(
    'broker-key.pem contains no PEM certificate, or one that cannot be read',
  );
  for (const key of ['broker-cert.pem', 'locked-key.pem'])
    expect(() => started(pair('broker-cert.pem', key))).toThrow(
      `${key} contains no PEM private key, or the key has a passphrase`,
    );
  expect(() => started(pair('broker-cert.pem', 'other-key.pem'))).toThrow(
    'channel broker: other-key.pem is not the key of broker-cert.pem',
  );
});

test('[points §4.2] the thread restarts with a greater generation, and live values are unavailable until read again', async () => {
  const device = await startModbusDevice();
  const dataDir = mkdtempSync(join(tmpdir(), 'device-layer-'));
  device.holding.writeUInt16BE(50, 0);
  const site = siteOf(
    `[{ id: plc, driver: modbus-tcp, host: 127.0.0.1, port: ${device.port}, unit_id: 1, poll_interval_ms: 20, timeout_ms: 500, word_order: big }]`,
    '[{ id: 1, name: soc, kind: measurement, unit: "%", channel: plc, max_age_ms: 60000, address: { table: holding, register: 0, type: uint16 } }]',
  );
  const { memory, layer } = start(site, dataDir);
  const reader = createLiveTableReader(memory);
  const snapshot = createSnapshot(1);
  const readable = () => reader.copyInto(snapshot, systemClock) && usable(snapshot, 0, 60_000);
  try {
    await expect.poll(readable).toBe(true);
    const before = layer.generation();
    await device.stop();
    await layer.restart();
    expect(layer.generation()).toBeGreaterThan(before);
    // Nobody has read the device since: the value is gone although `max_age_ms` is a minute.
    expect(readable()).toBe(false);
    await device.start();
    await expect.poll(readable).toBe(true);
  } finally {
    await layer.stop();
    await device.stop();
    rmSync(dataDir, { recursive: true });
  }
});

test('a layer that is started idle touches no device before it is activated, even after a crash of its thread', async () => {
  const device = await startModbusDevice();
  device.holding.writeUInt16BE(50, 0);
  const site = siteOf(
    `[{ id: plc, driver: modbus-tcp, host: 127.0.0.1, port: ${device.port}, unit_id: 1, poll_interval_ms: 20, timeout_ms: 500, word_order: big }]`,
    `[{ id: 1, name: soc, kind: measurement, unit: "%", channel: plc, address: { table: holding, register: 0, type: uint16 } },
      { id: 1, name: power, kind: action, unit: kW, channel: plc, safe_value: 0, hold_max_ms: 100, address: { table: holding, register: 8, type: uint16 } }]`,
  );
  const { layer } = start(site, '.', true);
  const online = () => layer.channels().map(({ state }) => state);
  try {
    await layer.restart();
    // It answers: its thread has started and has had time to connect.
    const nothing = { sent: 0, failed: 0, dropped: 0 };
    await expect.poll(() => layer.counts()).toEqual(nothing);
    for (let count = 0; count < 50; count++) expect(await layer.counts()).toEqual(nothing);
    expect([layer.up(), online(), device.connections()]).toEqual([true, ['offline'], 0]);
    layer.connect();
    await expect.poll(online).toEqual(['online']);
    // From here on a hold time counts.
    await expect.poll(async () => (await layer.counts()).sent).toBe(1);
    await layer.restart();
    await expect.poll(online).toEqual(['online']);
  } finally {
    await layer.stop();
    await device.stop();
  }
});

test('[points §7.2] the safe value respects limits too, and the engine is notified; the result of a command and its reason are known', async () => {
  const device = await startModbusDevice();
  const site = siteOf(
    `[{ id: plc, driver: modbus-tcp, host: 127.0.0.1, port: ${device.port}, unit_id: 1, poll_interval_ms: 20, timeout_ms: 500, word_order: big }]`,
    `[{ id: 1, name: power, kind: action, unit: kW, channel: plc, safe_value: 90, hold_max_ms: 100, address: { table: holding, register: 8, type: uint16 } }]`,
  );
  const { memory, layer } = start(site);
  const port = createCommandWriter(memory, systemClock);
  const written = () => device.holding.readUInt16BE(16);
  const by = { kind: 'rule', id: '1' } as const;
  const submit = (value: number) =>
    port.submit({ pointIndex: 0, value, priority: 0, generation: layer.generation(), asked: value, by });
  try {
    port.bound(0, 10, 60);
    await expect.poll(written).toBe(60);
    expect([port.safeWrites(0), port.last(0)]).toEqual([1, null]);
    expect(submit(20)).toBe('accepted');
    await expect.poll(() => port.last(0)?.result).toBe('written');
    expect(port.last(0)).toMatchObject({ asked: 20, value: 20, by });
    device.refuse(2);
    expect(submit(30)).toBe('accepted');
    await expect.poll(() => port.last(0)?.result).toBe('failed');
    expect(await layer.errors()).toMatchObject([{ index: 0, code: 'refused', message: expect.stringContaining('2') }]);
  } finally {
    await layer.stop();
    await device.stop();
  }
});

test('a device thread that cannot be started is one that died: it is tried again', async () => {
  const site = siteOf('[{ id: derived, driver: virtual }]');
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (message) => void errors.push(message), with: () => log };
  const limits = { ...deviceLimits, restart_delay_ms: 1, restart_max_ms: 4 };
  const { layer } = start(site, '.', true, { limits, log });
  try {
    // A site without points ends the thread, and data that cannot be copied to another thread prevents a new one.
    Reflect.set(site, 'points', null);
    await layer.restart();
    layer.connect();
    await expect.poll(() => errors.length).toBeGreaterThan(1);
    Reflect.set(limits, 'uncopied', () => undefined);
    await expect
      .poll(() => errors.slice(-2))
      .toEqual(Array(2).fill('the device layer has no thread; it is tried again'));
    expect(layer.up()).toBe(false);
    Reflect.deleteProperty(limits, 'uncopied');
    await expect.poll(() => errors.at(-1)).toBe('device layer failed; restarting it');
  } finally {
    await layer.stop();
  }
});

test('[points §2] a reading that means "not available", or lies outside min..max of its point, is bad and says why', async () => {
  const device = await startModbusDevice();
  const registers = [0xffff, 101, 100, 50];
  for (const [at, raw] of registers.entries()) device.holding.writeUInt16BE(raw, at * 2);
  const point = (id: number, more: string) =>
    `{ id: ${id}, name: p${id}, kind: measurement, unit: "%", channel: plc, max_age_ms: 60000, ${more}, address: { table: holding, register: ${id}, type: uint16 } }`;
  const site = siteOf(
    `[{ id: plc, driver: modbus-tcp, host: 127.0.0.1, port: ${device.port}, unit_id: 1, poll_interval_ms: 20, timeout_ms: 500, word_order: big }]`,
    `[${[point(0, 'invalid: [65535]'), point(1, 'min: 0, max: 100'), point(2, 'min: 0, max: 100'), point(3, 'invalid: [65535]')].join(', ')}]`,
  );
  const { memory, layer } = start(site);
  const reader = createLiveTableReader(memory);
  const snapshot = createSnapshot(4);
  const words = () => {
    reader.copyInto(snapshot, systemClock);
    return [0, 1, 2, 3].map((index) => qualityWord(snapshot, index, 60_000));
  };
  try {
    await expect.poll(words).toEqual(['invalid', 'out-of-range', 'good', 'good']);
    expect([0, 1, 2, 3].map((index) => usable(snapshot, index, 60_000))).toEqual([false, false, true, true]);
    device.holding.writeUInt16BE(7, 0);
    await expect.poll(words).toEqual(['good', 'out-of-range', 'good', 'good']);
  } finally {
    await layer.stop();
    await device.stop();
  }
});

test('[points §1.3] a virtual channel that gets a point keeps the values of the others, not of one that changed', async () => {
  const point = (id: number, more = '') =>
    `{ id: ${id}, name: p${id}, kind: measurement, unit: kW, channel: derived${more} }`;
  const channels = '[{ id: derived, driver: virtual }]';
  const site = siteOf(channels, `[${point(1)}, ${point(2)}]`);
  const memory = createPointMemory(site.points, 1, { points: 8, channels: 8 });
  const { layer } = start(site, '.', false, { memory });
  const reader = createLiveTableReader(memory);
  const snapshot = createSnapshot(8);
  const values = () => {
    reader.copyInto(snapshot, systemClock);
    return [0, 1, 2].map((index) => (usable(snapshot, index, 60_000) ? snapshot.values[index] : null));
  };
  const port = createCommandWriter(memory, systemClock);
  const by = { kind: 'rule', id: '1' } as const;
  const write = (pointIndex: number, value: number) =>
    port.submit({ pointIndex, value, priority: 0, generation: layer.generation(), asked: value, by });
  try {
    await expect.poll(() => layer.channels()[0]?.state).toBe('online');
    expect([write(0, 5), write(1, 7)]).toEqual(['accepted', 'accepted']);
    await expect.poll(values).toEqual([5, 7, null]);
    await layer.prepare(siteOf(channels, `[${point(1)}, ${point(2, ', max: 6')}, ${point(3)}]`)).adopt();
    await expect.poll(() => layer.channels()[0]?.state).toBe('online');
    await expect.poll(values).toEqual([5, null, null]);
  } finally {
    await layer.stop();
  }
});
