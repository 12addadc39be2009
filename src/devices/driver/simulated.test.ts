/** Driver `simulated` [points §3.3]: the plant model in real time, which continues where it stopped. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { driverContract, runDevices } from '../../testing/driver-contract.ts';

const siteText = (speed: number): string => `
schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
  - id: plant
    driver: simulated
    load_series: load.csv
    pv_series: pv.csv
    step_interval_ms: 50
    speed: ${speed}
    battery: { capacity_kwh: 100, max_power_kw: 50, initial_soc_percent: 50, efficiency: 1 }
    genset: { rated_kw: 80 }
instances:
  - id: 1
    name: plant
    points:
      - { id: 1, name: setpoint, kind: action, unit: kW, scale: 0.5, offset: 10, channel: plant, address: { signal: battery_setpoint_kw } }
      - { id: 1, name: load, kind: measurement, unit: kW, channel: plant, address: { signal: load_kw } }
      - { id: 2, name: soc, kind: measurement, unit: "%", channel: plant, address: { signal: battery_soc } }
      - { id: 2, name: pv_limit, kind: action, unit: kW, channel: plant, address: { signal: pv_limit_kw } }
`;
const week = (value: number): string => {
  const day = (index: number) => `2026-01-${String(index + 1).padStart(2, '0')}T00:00:00Z,${value}`;
  return `time,value\n${Array.from({ length: 8 }, (_, index) => day(index)).join('\n')}\n`;
};
function plantFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'simulated-'));
  writeFileSync(join(folder, 'load.csv'), week(30));
  writeFileSync(join(folder, 'pv.csv'), week(10));
  return folder;
}

driverContract('simulated', () => {
  const folder = plantFolder();
  return {
    siteText: siteText(1),
    configDir: folder,
    dataDir: folder,
    action: 0,
    measurement: 1,
    held: () => null,
    close: () => rmSync(folder, { recursive: true }),
  };
});

describe('[points §3.3] the simulated driver', () => {
  let folder: string;
  beforeEach(() => {
    folder = plantFolder();
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const run = (speed: number) => runDevices(siteText(speed), { configDir: folder, dataDir: folder });
  const stateFile = () => join(folder, 'simulated-plant.json');

  test('time runs `speed` times as fast, and a later start continues with the charge it stopped with', async () => {
    const first = run(3600);
    await first.online();
    first.command(0, 30);
    // (30 - 10) / 0.5 = 40 kW of 100 kWh: below 20% after less than an hour, which takes a second here.
    await expect.poll(() => first.value(2) ?? 100).toBeLessThan(20);
    await first.layer.stop();
    const second = run(1);
    await second.online();
    await expect.poll(() => second.value(2)).toBeLessThan(20);
    expect(second.value(0)).toBe(30);
    await second.layer.stop();
  });

  test('a point that was never set is unavailable, not zero', async () => {
    const devices = run(1);
    await devices.online();
    await expect.poll(() => devices.value(1)).toBe(30);
    expect(devices.value(3)).toBeNull();
    await devices.layer.stop();
  });

  test.each(['', 'null', '{"socKwh":1}', '[]'])(
    'a state file that holds %j is left aside: the plant starts afresh',
    async (text) => {
      writeFileSync(stateFile(), text);
      const devices = run(1);
      await devices.online();
      await expect.poll(() => devices.value(2)).toBeCloseTo(50, 1);
      await devices.layer.stop();
      expect(JSON.parse(readFileSync(stateFile(), 'utf8'))).toMatchObject({ gensetRun: false });
    },
  );

  test('a charge beyond a battery that became smaller is cut to it', async () => {
    const state = { socKwh: 400, batteryKw: 0, gensetKw: 0, gensetRunSeconds: 0, loadEnergyKwh: 0, setpointKw: 0 };
    writeFileSync(stateFile(), JSON.stringify({ ...state, pvLimitKw: null, gensetRun: false }));
    const devices = run(1);
    await devices.online();
    await expect.poll(() => devices.value(2)).toBe(100);
    await devices.layer.stop();
  });
});

describe('[points §3.3] a simulated channel that cannot be started', () => {
  test('a missing series is one line that names channel and file', () => {
    const folder = plantFolder();
    rmSync(join(folder, 'pv.csv'));
    const parts = { configDir: folder, dataDir: folder };
    expect(() => runDevices(siteText(1), parts)).toThrow('channel plant: the series pv.csv cannot be read: ENOENT');
    rmSync(folder, { recursive: true });
  });
});
