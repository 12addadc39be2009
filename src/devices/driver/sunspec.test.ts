/** Driver `sunspec` [points §3.4] through the device layer, against a simulated device on loopback. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { modelsWith } from '../../site/sunspec/models.ts';
import { driverContract, type RunningDevices, runDevices } from '../../testing/driver-contract.ts';
import { type FaultDevice, startFaultDevice } from '../../testing/fault-device.ts';
import { curves, modules } from '../../testing/sunspec-definition.ts';
import type { ScanQuestion } from '../driver.ts';
import { readModelDefinitions } from '../sunspec/definition-files.ts';
import { fillModels, type GivenModel } from '../sunspec/model-registers.ts';

const folders = { configDir: '.', dataDir: '.' };
const inverter: readonly GivenModel[] = [
  { model: 1, values: { Mn: 'Setpoint', Md: 'Test inverter', SN: '0001' } },
  {
    model: 103,
    values: { W: 12_345, W_SF: -1, WH: 4_000_000, WH_SF: 2, PhVphA: 2301, V_SF: -1, Hz: 5001, Hz_SF: -2, St: 4 },
  },
  { model: 160, values: { N: 2, DCW_SF: 0, 'DCW[1]': 600, 'DCW[2]': 700 }, repetitions: 2 },
  { model: 123, values: { WMaxLimPct: 10_000, WMaxLimPct_SF: -2, WMaxLim_Ena: 0 } },
  { model: 203, values: { W: -500, W_SF: 0, TotWhImp: 77, TotWh_SF: 3 } },
];

async function deviceWith(models: readonly GivenModel[], base = 40_000): Promise<FaultDevice> {
  const device = await startFaultDevice();
  fillModels(device.bank(1), 1, base, models);
  return device;
}

const siteText = (port: number, points: readonly string[]): string => `
schema: svc.site.v1
site: { id: s, name: s, timezone: UTC }
channels:
  - { id: inverter, driver: sunspec, host: 127.0.0.1, port: ${port}, poll_interval_ms: 20, timeout_ms: 200 }
instances:
  - id: 1
    name: inverter
    points:
${points.map((point, at) => `      - { id: ${at + 1}, name: p${at + 1}, channel: inverter, ${point} }`).join('\n')}
`;

driverContract('sunspec', async () => {
  const device = await deviceWith([
    { model: 1, values: {} },
    { model: 103, values: { W: 5, W_SF: 0 } },
    { model: 704, values: { WSet: 0, WSet_SF: 0 } },
  ]);
  const set = 40_002 + 67 + 52 + 2 + 22;
  return {
    siteText: siteText(device.port, [
      'kind: action, unit: kW, scale: 0.5, offset: 10, address: { point: WSet }',
      'kind: measurement, unit: W, address: { point: W }',
    ]),
    ...folders,
    action: 0,
    measurement: 1,
    held: () => ((device.bank(1).get('holding', set) ?? 0) << 16) | (device.bank(1).get('holding', set + 1) ?? 0),
    close: () => device.close(),
  };
});

describe('[points §3.4] sunspec', () => {
  let device: FaultDevice | undefined;
  let devices: RunningDevices | undefined;
  afterEach(async () => {
    await devices?.layer.terminate();
    await device?.close();
  });
  const start = async (points: readonly string[], models = inverter, base?: number) => {
    device = await deviceWith(models, base);
    devices = runDevices(siteText(device.port, points), folders);
    await devices.online();
    return { device, devices };
  };
  const measured = (unit: string, address: string): string =>
    `kind: measurement, unit: "${unit}", address: { ${address} }`;

  test.each([40_000, 50_000, 0])('finds the device at %d; values are in the unit of the point', async (base) => {
    const running = await start(
      [
        measured('kW', 'model: 103, point: W'),
        measured('MWh', 'point: WH'),
        measured('V', 'model: 103, point: PhVphA'),
        measured('W', 'point: "DCW[2]"'),
        measured('kWh', 'point: TotWhImp'),
        measured('1', 'point: Mn'),
      ],
      inverter,
      base,
    );
    const { value } = running.devices;
    await expect.poll(() => [0, 1, 2, 3, 4, 5].map(value)).toEqual([1.2345, 400, 230.1, 700, 77, null]);
    expect(await running.devices.layer.texts()).toEqual([{ index: 5, text: 'Setpoint' }]);
  });

  test('the scale factor is read with the value each time, and "not implemented" is not a value', async () => {
    const running = await start([measured('W', 'model: 103, point: W'), measured('A', 'model: 103, point: A')]);
    await expect.poll(() => running.devices.value(0)).toBe(1234.5);
    expect(running.devices.value(1)).toBeNull();
    const first = 40_002 + 67 + 2;
    running.device.bank(1).set('holding', first + 13, 1);
    await expect.poll(() => running.devices.value(0)).toBe(123_450);
    running.device.bank(1).set('holding', first + 12, 0x8000);
    await expect.poll(() => running.devices.value(0)).toBeNull();
    const trace = await running.devices.layer.trace(0);
    expect(trace?.exchanges.at(-1)?.request).toBe(`read holding ${first}..${first + 13} of unit 1`);
  });

  test('a command goes through the scale factor, and is read back', async () => {
    const running = await start(['kind: action, unit: "%", min: 0, max: 100, address: { point: WMaxLimPct }']);
    await expect.poll(() => running.devices.value(0)).toBe(100);
    expect(running.devices.command(0, 60)).toBe('accepted');
    await expect.poll(() => running.devices.value(0)).toBe(60);
    expect(running.device.writes).toEqual([{ unit: 1, code: 16, start: expect.any(Number) }]);
  });

  test('a missing point, and one in several models, are reported; the others are read', async () => {
    const running = await start([
      measured('%', 'point: SoC'),
      measured('W', 'point: W'),
      measured('Hz', 'model: 103, point: Hz'),
    ]);
    await expect.poll(() => running.devices.value(2)).toBe(50.01);
    const errors = (await running.devices.layer.errors()).map(({ index, message }) => [index, message]);
    expect(errors).toEqual([
      [0, 'the device has no point SoC; its models are 1, 103, 160, 123, 203'],
      [1, 'W is in the models 103 and 203 of the device: say which with model, or nth'],
    ]);
  });

  test('a scan returns the models with their points and values', async () => {
    const running = await start([measured('Hz', 'model: 103, point: Hz')]);
    const found = await running.devices.layer.scan(0, {});
    expect(found?.models.map(({ model, name }) => `${model} ${name}`)).toEqual([
      '1 common',
      '103 inverter, three phase',
      '160 inputs with their own trackers',
      '123 immediate controls',
      '203 meter, three phase, wye',
    ]);
    const values = new Map(
      found?.models.flatMap(({ model, points }) =>
        points.map(({ point, unit, value }) => [`${model} ${point}`, [value, unit]]),
      ),
    );
    expect(values.get('103 W')).toEqual([1234.5, 'W']);
    expect(values.get('1 Md')).toEqual(['Test inverter', '']);
    expect(values.get('160 DCW[1]')).toEqual([600, 'W']);
    expect(values.get('103 A')).toEqual([null, 'A']);
  });

  test('[points §8.6] a scan of another unit reads that unit, and says if it has no models; registers cannot be chosen', async () => {
    const running = await start([measured('Hz', 'model: 103, point: Hz')]);
    const scan = (question: ScanQuestion) => running.devices.layer.scan(0, question);
    await expect(scan({ unit: 7 })).rejects.toMatchObject({
      message: expect.stringContaining('no SunSpec device: "SunS" was not found'),
    });
    for (const question of [{ table: 'input' }, { from: 0 }, { count: 5 }] as const)
      await expect(scan(question)).rejects.toMatchObject({ code: 'invalid-input' });
  });

  test('models that the site defines are read, written and scanned, with as many groups as the device has', async () => {
    const configDir = mkdtempSync(join(tmpdir(), 'setpoint-sunspec-'));
    const folder = join(configDir, 'sunspec');
    mkdirSync(folder);
    for (const definition of [curves, modules])
      writeFileSync(join(folder, `model_${definition.id}.json`), JSON.stringify(definition));
    device = await startFaultDevice();
    const given: readonly GivenModel[] = [
      { model: 1, values: {} },
      {
        model: 64_901,
        values: {
          NPt: 2,
          NCrv: 2,
          V_SF: -1,
          Total: -123,
          'Crv[2].T_SF': -2,
          'Crv[2].Pt[2].V': 2345,
          'Crv[2].Pt[2].Tms': 16,
        },
      },
      { model: 64_902, values: { V_SF: -2, 'ModV[3]': 4801 }, repetitions: 3 },
    ];
    fillModels(device.bank(1), 1, 40_000, given, modelsWith(readModelDefinitions(configDir)));
    const points = [
      measured('V', 'model: 64901, point: "Crv[2].Pt[2].V"'),
      measured('ms', 'point: "Crv[2].Pt[2].Tms"'),
      measured('Wh', 'point: Total'),
      measured('mV', 'point: "ModV[3]"'),
      measured('V', 'point: "ModV[4]"'),
      'kind: action, unit: V, address: { point: "Crv[1].Pt[1].V" }',
    ];
    devices = runDevices(siteText(device.port, points), { configDir, dataDir: configDir });
    rmSync(configDir, { recursive: true });
    await devices.online();
    await expect
      .poll(() => [0, 1, 2, 3, 4].map(devices?.value ?? (() => null)))
      .toEqual([234.5, 160, -1.23, 48_010, null]);
    expect((await devices.layer.errors()).map(({ message }) => message)).toEqual([
      'the device has no point ModV[4]; its models are 1, 64901, 64902',
    ]);
    expect(devices.command(5, 230)).toBe('accepted');
    await expect.poll(() => devices?.value(5)).toBe(230);
    const found = await devices.layer.scan(0, {});
    const curve = found?.models.find(({ model }) => model === 64_901);
    expect(curve?.name).toBe('vendor_model');
    expect(curve?.points).toContainEqual({ point: 'Crv[1].Pt[1].V', unit: 'V', value: 230 });
    expect(curve?.points).toContainEqual({ point: 'Total', unit: 'Wh', value: -1.23 });
  });

  test('of a model that ends before a scale factor, the value is not read with the register of another one', async () => {
    const battery = { model: 802, values: { NCyc: 7, SoC: 500, SoC_SF: -1 } };
    device = await deviceWith([{ model: 1, values: {} }, battery]);
    const first = 40_002 + 67 + 2;
    const bank = device.bank(1);
    bank.set('holding', first - 1, 20);
    bank.set('holding', first + 20, 0xffff);
    bank.set('holding', first + 21, 0);
    devices = runDevices(siteText(device.port, [measured('%', 'point: SoC'), measured('1', 'point: NCyc')]), folders);
    const running = devices;
    await expect.poll(() => running.value(1)).toBe(7);
    expect((await running.layer.errors()).map(({ message }) => message)).toEqual([
      'the device has no point SoC; its models are 1, 802',
    ]);
    const found = await running.layer.scan(0, {});
    expect(found?.models[1]?.points).toContainEqual({ point: 'NCyc', unit: '', value: 7 });
  });

  test('a device that is not a SunSpec device is offline, and its points say why', async () => {
    device = await startFaultDevice();
    device.bank(1).set('holding', 40_000, 7);
    devices = runDevices(siteText(device.port, [measured('W', 'point: W')]), folders);
    const running = devices;
    await expect
      .poll(async () => (await running.layer.errors()).map(({ message }) => message))
      .toEqual(['no SunSpec device: "SunS" was not found at register 40000, 50000, 0']);
    expect(running.layer.channels()[0]?.state).toBe('offline');
  });
});
