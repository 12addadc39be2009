/** Driver `virtual`: points that rules themselves write [points §3.3]. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { driverContract, type RunningDevices, runDevices } from '../../testing/driver-contract.ts';

const siteText = `
schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
  - { id: derived, driver: virtual }
instances:
  - id: 1
    name: derived
    points:
      - { id: 1, name: mode, kind: action, unit: kW, scale: 0.5, offset: 10, channel: derived }
      - { id: 1, name: energy, kind: measurement, unit: kWh, channel: derived }
      - { id: 2, name: brief, kind: measurement, unit: kWh, channel: derived, max_age_ms: 400 }
`;
const folders = { configDir: '.', dataDir: '.' };

driverContract('virtual', () => ({
  siteText,
  ...folders,
  action: 0,
  measurement: null,
  held: () => null,
  close: () => undefined,
}));

describe('[points §3.3] virtual points', () => {
  let devices: RunningDevices;
  beforeEach(async () => {
    devices = runDevices(siteText, folders);
    await devices.online();
  });
  afterEach(() => devices.layer.terminate());

  test('a measurement is written like an action, and nothing else changes', async () => {
    expect(devices.command(1, 3.25)).toBe('accepted');
    await expect.poll(() => devices.value(1)).toBe(3.25);
    expect([devices.value(0), devices.value(2)]).toEqual([null, null]);
  });

  test('a written value stays, unless the point says how long it holds', async () => {
    devices.command(1, 1);
    devices.command(2, 2);
    await expect.poll(() => devices.value(2)).toBe(2);
    await expect.poll(() => devices.value(2)).toBeNull();
    expect(devices.value(1)).toBe(1);
  });
});
