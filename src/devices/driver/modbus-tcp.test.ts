/** The Modbus driver through the device layer, against a real TCP server on loopback. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { createCommandWriter } from '../../points/command-slots.ts';
import { createLiveTableReader } from '../../points/live-table.ts';
import { createPointMemory, currentGeneration, type PointMemory } from '../../points/shared-memory.ts';
import { readSite, type Site } from '../../points/site.ts';
import { createSnapshot, quality } from '../../rules/snapshot.ts';
import { type ModbusDevice, startModbusDevice } from '../../testing/modbus-server.ts';
import { type DeviceLayer, startDeviceLayer } from '../device-layer.ts';
import { deviceLimits } from '../limits.ts';

const siteText = (port: number): string => `
schema: svc.site.v1
site: { id: s, name: s, timezone: Europe/Amsterdam }
channels:
  - { id: plc, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 20, timeout_ms: 200, word_order: big }
instances:
  - id: 1
    name: plc
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: plc, address: { table: holding, register: 0, type: float32 } }
      - { id: 2, name: power, kind: measurement, unit: kW, scale: 0.1, offset: 5, channel: plc, address: { table: input, register: 10, type: int16 } }
      - { id: 3, name: door, kind: measurement, unit: "1", channel: plc, address: { table: discrete, register: 3, type: bool } }
      - { id: 1, name: setpoint, kind: action, unit: kW, channel: plc, address: { table: holding, register: 100, type: float32 } }
      - { id: 2, name: run, kind: action, unit: "1", channel: plc, address: { table: coil, register: 5, type: bool } }
`;

describe('decisions §2.6 modbus-tcp', () => {
  let device: ModbusDevice;
  let site: Site;
  let memory: PointMemory;
  let layer: DeviceLayer;

  const value = (index: number): number | null => {
    const snapshot = createSnapshot(site.points.length);
    if (!createLiveTableReader(memory).copyInto(snapshot, systemClock)) return null;
    const good = snapshot.quality[index] === quality.good;
    return good ? (snapshot.values[index] ?? null) : null;
  };
  const command = (index: number, commanded: number, generation = currentGeneration(memory)) =>
    createCommandWriter(memory, systemClock).submit({ pointIndex: index, value: commanded, generation });
  const online = () => expect.poll(() => layer.channels()[0]?.state, { timeout: 5000 }).toBe('online');

  beforeEach(async () => {
    device = await startModbusDevice();
    device.holding.writeFloatBE(42.5, 0);
    device.input.writeInt16BE(-200, 20);
    device.discrete[0] = 0b1000;
    site = readSite(siteText(device.port), 'site.yaml');
    memory = createPointMemory(site.points, site.channels.length);
    layer = startDeviceLayer({
      site,
      memory,
      clock: systemClock,
      log: silentLog,
      logLevel: 'silent',
      limits: { ...deviceLimits, reconnect_min_ms: 20, reconnect_max_ms: 50, command_max_age_ms: 300 },
      configDir: '.',
      dataDir: '.',
      inProcess: true,
    });
  });
  afterEach(async () => {
    await layer.terminate();
    await device.stop();
  });

  test('reads registers and bits of every table, scaled', async () => {
    await expect.poll(() => [value(0), value(1), value(2)]).toEqual([42.5, -15, 1]);
  });

  test('an accepted command reaches the device', async () => {
    await online();
    expect(command(3, 12.5)).toBe('accepted');
    expect(command(4, 1)).toBe('accepted');
    await expect.poll(() => device.holding.readFloatBE(200)).toBe(12.5);
    await expect.poll(() => (device.coils[0] ?? 0) & 0b10_0000).toBe(0b10_0000);
  });

  test('§6.5 a stopped device: values unavailable, commands refused, none delivered later', async () => {
    await online();
    await device.stop();
    await expect.poll(() => layer.channels()[0]?.state).toBe('offline');
    expect(value(0)).toBeNull();
    expect(command(3, 77)).toBe('offline');
    const before = device.writes.length;
    await device.start();
    await online();
    await expect.poll(() => value(0)).toBe(42.5);
    expect(device.writes.length).toBe(before);
  });

  test('a device that falls silent is disconnected, and its values become unavailable', async () => {
    await online();
    device.silence(true);
    await expect.poll(() => layer.channels()[0]?.state, { timeout: 3000 }).toBe('offline');
    expect(value(0)).toBeNull();
    device.silence(false);
    await online();
    await expect.poll(() => value(0)).toBe(42.5);
  });

  test('§6.5 a command that waits behind a request without an answer is dropped, not sent after the reconnect', async () => {
    await online();
    device.silence(true);
    // Longer than the poll interval: by now a request is in flight and occupies the channel.
    await elapsed(100);
    expect(command(3, 55)).toBe('accepted');
    await expect.poll(() => layer.channels()[0]?.state, { timeout: 3000 }).toBe('offline');
    device.silence(false);
    await online();
    await expect.poll(() => value(0)).toBe(42.5);
    await elapsed(100);
    expect(device.writes).toEqual([]);
    expect((await layer.counts()).dropped).toBe(1);
  });

  test('§6.4 a command decided before the device layer restarted is dropped', async () => {
    await online();
    const old = currentGeneration(memory);
    await layer.restart();
    await online();
    expect(command(3, 9, old)).toBe('stale-generation');
    expect(currentGeneration(memory)).toBeGreaterThan(old);
    expect(device.holding.readFloatBE(200)).toBe(0);
  });
});

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}
