/**
 * The common behaviour of all drivers, run through the device layer: the contract of `devices/driver.ts` and of the command path
 * [points §4.1], [points §4.2], [points §4.3], [points §3]. Each driver's test calls it with its own site.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { type DeviceLayer, startDeviceLayer } from '../devices/device-layer.ts';
import { deviceLimits } from '../devices/limits.ts';
import { readSiteFiles } from '../devices/materials.ts';
import { createCommandWriter } from '../points/command-slots.ts';
import { createLiveTableReader } from '../points/live-table.ts';
import { createPointMemory, currentGeneration, type PointMemory } from '../points/shared-memory.ts';
import type { CommandAnswer } from '../site/command-port.ts';
import { readSite, type Site } from '../site/site.ts';
import { createSnapshot, usable } from '../site/snapshot.ts';

/** A device for one test, and its site, whose first channel uses the driver. */
export interface ContractDevice {
  readonly siteText: string;
  /** Folders of series files and of driver state. */
  readonly configDir: string;
  readonly dataDir: string;
  /** Index of an action point of `unit` kW that takes 12.5 and 20, with scale 0.5 and offset 10. */
  readonly action: number;
  /** Index of a point that has a value without any command; null when the channel has none. */
  readonly measurement: number | null;
  /** The device's own value of the action point; null when it cannot be read. */
  held(): number | null;
  close(): Promise<void> | void;
}

/** A running device layer in this thread, with the other end of its shared memory. */
export interface RunningDevices {
  readonly site: Site;
  readonly memory: PointMemory;
  readonly layer: DeviceLayer;
  /** The live value of a point; null when rules could not use it. */
  value(index: number): number | null;
  command(index: number, value: number, generation?: number): CommandAnswer;
  /** A command that was decided `ageMs` ago. */
  agedCommand(index: number, value: number, ageMs: number): CommandAnswer;
  /** Resolves when the first channel is online. */
  online(): Promise<void>;
}

export function runDevices(
  siteText: string,
  folders: { readonly configDir: string; readonly dataDir: string },
  limits: Partial<typeof deviceLimits> = {},
  environment: Readonly<Record<string, string>> = {},
): RunningDevices {
  const site = readSite(siteText, 'site.yaml', readSiteFiles(folders.configDir));
  const memory = createPointMemory(site.points, site.channels.length);
  const layer = startDeviceLayer({
    site,
    memory,
    clock: systemClock,
    log: silentLog,
    logLevel: 'silent',
    limits: { ...deviceLimits, reconnect_min_ms: 20, reconnect_max_ms: 50, ...limits },
    configDir: folders.configDir,
    dataDir: folders.dataDir,
    secret: (variable) => environment[variable],
    inProcess: true,
  });
  const reader = createLiveTableReader(memory);
  const aged = (ageMs: number) =>
    createCommandWriter(memory, { ...systemClock, monotonicMs: () => systemClock.monotonicMs() - ageMs });
  const submit = (index: number, value: number, generation: number, ageMs: number) =>
    aged(ageMs).submit({ pointIndex: index, value, priority: 0, asked: 0, by: { kind: 'rule', id: '1' }, generation });
  return {
    site,
    memory,
    layer,
    value(index) {
      const snapshot = createSnapshot(site.points.length);
      if (!reader.copyInto(snapshot, systemClock)) return null;
      return usable(snapshot, index, site.points[index]?.maxAgeMs ?? 0) ? (snapshot.values[index] ?? null) : null;
    },
    command: (index, value, generation = currentGeneration(memory)) => submit(index, value, generation, 0),
    agedCommand: (index, value, ageMs) => submit(index, value, currentGeneration(memory), ageMs),
    online: () => expect.poll(() => layer.channels()[0]?.state).toBe('online'),
  };
}

/** Waits in real time, where a test must show that something does not happen. */
export function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}

export function driverContract(driver: string, open: () => Promise<ContractDevice> | ContractDevice): void {
  describe(`driver contract: ${driver}`, () => {
    let device: ContractDevice;
    let devices: RunningDevices;
    const arrives = async (value: number): Promise<void> => {
      await expect.poll(() => devices.value(device.action)).toBe(value);
      if (device.held() !== null) expect(device.held()).toBe((value - 10) / 0.5);
    };

    beforeEach(async () => {
      device = await open();
      devices = runDevices(device.siteText, device, { command_max_age_ms: 1000 });
      await devices.online();
    });
    afterEach(async () => {
      await devices.layer.terminate();
      await device.close();
    });

    test('measurements become usable by themselves', async () => {
      if (device.measurement === null) {
        expect(devices.site.points.map(({ index }) => devices.value(index))).toEqual(
          devices.site.points.map(() => null),
        );
        return;
      }
      const { measurement } = device;
      await expect.poll(() => devices.value(measurement)).not.toBeNull();
    });

    test('an accepted command reaches the device without scale and offset, and is the live value with them', async () => {
      expect(devices.command(device.action, 12.5)).toBe('accepted');
      await arrives(12.5);
      expect(devices.command(device.action, 20)).toBe('accepted');
      await arrives(20);
      expect(await devices.layer.counts()).toEqual({ sent: 2, failed: 0, dropped: 0 });
    });

    test('[points §4.3] a command older than command_max_age_ms is dropped and counted, not sent', async () => {
      expect(devices.command(device.action, 12.5)).toBe('accepted');
      await arrives(12.5);
      expect(devices.agedCommand(device.action, 20, 1001)).toBe('accepted');
      await expect.poll(async () => (await devices.layer.counts()).dropped).toBe(1);
      expect(devices.value(device.action)).toBe(12.5);
      expect((await devices.layer.counts()).sent).toBe(1);
    });

    test('[points §4.2] after a restart: another generation, old decisions dropped, new ones carried out', async () => {
      const old = currentGeneration(devices.memory);
      await devices.layer.restart();
      expect(currentGeneration(devices.memory)).toBeGreaterThan(old);
      expect(devices.command(device.action, 20, old)).toBe('stale-generation');
      await devices.online();
      expect(devices.command(device.action, 20, old)).toBe('stale-generation');
      expect(devices.command(device.action, 12.5)).toBe('accepted');
      await arrives(12.5);
      expect(await devices.layer.counts()).toEqual({ sent: 1, failed: 0, dropped: 0 });
    });

    test.each(['stop', 'terminate'] as const)('[points §4.2] after %s everything is unavailable', async (how) => {
      expect(devices.command(device.action, 12.5)).toBe('accepted');
      await arrives(12.5);
      const generation = currentGeneration(devices.memory);
      await devices.layer[how]();
      expect(devices.site.points.map(({ index }) => devices.value(index))).toEqual(devices.site.points.map(() => null));
      expect(devices.layer.channels().map(({ state }) => state)).toEqual(devices.site.channels.map(() => 'offline'));
      expect(devices.command(device.action, 20, generation)).toBe('stale-generation');
      expect(devices.command(device.action, 20)).toBe('offline');
    });
  });
}
