/** A device layer that restarts between decision and delivery: the command is dropped ([points §4.2] Execution behavior 4). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { startDeviceLayer } from '../../src/devices/device-layer.ts';
import { deviceLimits } from '../../src/devices/limits.ts';
import { createCommandWriter } from '../../src/points/command-slots.ts';
import { createLiveTableReader } from '../../src/points/live-table.ts';
import { createPointMemory } from '../../src/points/shared-memory.ts';
import { readSite } from '../../src/site/site.ts';
import { createSnapshot, type Snapshot, usable } from '../../src/site/snapshot.ts';
import { startModbusDevice } from '../../src/testing/modbus-server.ts';
import { waitFor } from './running-service.ts';

const siteOf = (port: number) =>
  readSite(
    `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: UTC }
channels:
  - { id: inverter, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 50, timeout_ms: 5000, word_order: big }
instances:
  - id: 1
    name: battery
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: inverter, max_age_ms: 60000, address: { table: holding, register: 0, type: uint16 } }
      - { id: 1, name: setpoint, kind: action, unit: kW, channel: inverter, address: { table: holding, register: 100, type: uint16 } }
`,
    'site.yaml',
  );

test('[points §4.2] a rule that fires across a restart of the device layer is detected and dropped; nothing is delivered later', async () => {
  const device = await startModbusDevice();
  const dataDir = mkdtempSync(join(tmpdir(), 'device-restart-'));
  const site = siteOf(device.port);
  const memory = createPointMemory(site.points, site.channels.length);
  const layer = startDeviceLayer({
    site,
    memory,
    clock: systemClock,
    log: silentLog,
    logLevel: 'silent',
    limits: deviceLimits,
    configDir: dataDir,
    dataDir,
    secret: () => undefined,
  });
  const reader = createLiveTableReader(memory);
  const port = createCommandWriter(memory, systemClock);
  const snapshot = createSnapshot(site.points.length);
  // A writer suspended in the middle of a write leaves nothing to read until it continues.
  const read = (): Promise<Snapshot> => waitFor(() => (reader.copyInto(snapshot, systemClock) ? snapshot : undefined));
  const fresh = () => waitFor(async () => usable(await read(), 0, 60_000) || undefined);
  try {
    device.holding.writeUInt16BE(50, 0);
    await fresh();
    const before = (await read()).generation;

    // Decided in the old generation, submitted in the new one.
    await layer.restart();
    expect(layer.generation()).toBeGreaterThan(before);
    expect(
      port.submit({
        pointIndex: 1,
        value: 11,
        priority: 0,
        asked: 0,
        by: { kind: 'rule', id: '1' },
        generation: before,
      }),
    ).toBe('stale-generation');
    await fresh();
    expect(
      port.submit({
        pointIndex: 1,
        value: 12,
        priority: 0,
        asked: 0,
        by: { kind: 'rule', id: '1' },
        generation: before,
      }),
    ).toBe('stale-generation');

    // Submitted, but the layer restarts before the driver could send it.
    device.silence(true);
    const polls = device.connections();
    expect(polls).toBeGreaterThan(0);
    const stuckMs = Date.now();
    await waitFor(() => Date.now() - stuckMs > 200 || undefined);
    expect(
      port.submit({
        pointIndex: 1,
        value: 13,
        priority: 0,
        asked: 0,
        by: { kind: 'rule', id: '1' },
        generation: (await read()).generation,
      }),
    ).toBe('accepted');
    await layer.restart();
    // Values of the old generation decide nothing, however recent they are.
    expect(usable(await read(), 0, 60_000)).toBe(false);
    device.silence(false);
    await fresh();
    expect(device.writes).toEqual([]);

    expect(
      port.submit({
        pointIndex: 1,
        value: 14,
        priority: 0,
        asked: 0,
        by: { kind: 'rule', id: '1' },
        generation: (await read()).generation,
      }),
    ).toBe('accepted');
    await waitFor(() => device.holding.readUInt16BE(200) === 14 || undefined);
    expect(device.writes).toHaveLength(1);
  } finally {
    await layer.stop();
    await device.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
