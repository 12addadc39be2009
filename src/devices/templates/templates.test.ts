/** The self-test of every device template of the package [points §1.1], and that a self-test finds what is wrong. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import type { DeviceTemplate } from '../../site/device-template.ts';
import { readModelDefinition } from '../../site/sunspec/definition.ts';
import { modules } from '../../testing/sunspec-definition.ts';
import { selfTestFaults } from './self-test.ts';
import { readDeviceTemplates } from './template-files.ts';

/** For points that never get their expected value. */
const briefMs = 500;
const templates = readDeviceTemplates('.');
const names = [...templates.values()].map(({ name }) => name);

function templateOf(name: string): DeviceTemplate {
  const template = templates.get(name);
  if (template === undefined) throw new Error(`no template ${name}`);
  return template;
}

/** The template with every address changed. */
function changed(name: string, change: (address: Readonly<Record<string, unknown>>) => object): DeviceTemplate {
  const template = templateOf(name);
  const points = template.points.map((point) => ({
    ...point,
    address: change(Reflect.get(point, 'address') as Readonly<Record<string, unknown>>),
  }));
  return { ...template, points };
}

describe('[points §1.1] device templates', () => {
  test('there are at least twelve, each with the source of its registers', () => {
    expect(names.length).toBeGreaterThanOrEqual(12);
    for (const { source } of templates.values()) expect(source.length).toBeGreaterThan(10);
  });

  test.each(names)('%s', async (name) => {
    expect(await selfTestFaults(templateOf(name), systemClock)).toEqual([]);
  });

  test.each(['eastron-sdm630', 'abb-b23', 'keba-p30'])(
    '%s with every point one register further is found wrong, point by point',
    async (name) => {
      const shifted = changed(name, (address) => ({ ...address, register: Number(address['register']) + 1 }));
      const faults = await selfTestFaults(shifted, systemClock, { deadlineMs: briefMs });
      const [test] = shifted.self_test;
      for (const [point, value] of Object.entries(test?.then ?? {}))
        if (value !== null)
          expect(faults).toContainEqual(
            expect.stringMatching(`^self_test 1: ${point} says .*, and ${value} was expected$`),
          );
    },
  );

  test('a wrong path, a wrong word order and a wrong register behind a command are found', async () => {
    const path = changed('shelly-pro-3em', (address) => ({ ...address, path: '$.nothing' }));
    expect(await selfTestFaults(path, systemClock)).toHaveLength(6);
    const wrongOrder = {
      ...templateOf('huawei-sun2000'),
      channel: { ...templateOf('huawei-sun2000').channel, framing: 'tcp' },
    };
    const points = wrongOrder.points.map((point) => ({
      ...point,
      address: { ...Object(Reflect.get(point, 'address')), word_order: 'little' },
    }));
    expect(await selfTestFaults({ ...wrongOrder, points }, systemClock, { deadlineMs: briefMs })).toContainEqual(
      expect.stringContaining('active_power says'),
    );
    const victron = templateOf('victron-gx');
    const held = victron.self_test.map((each) => ({ ...each, held: { registers: { holding: { '2700': 7 } } } }));
    expect(await selfTestFaults({ ...victron, self_test: held }, systemClock, { deadlineMs: briefMs })).toEqual([
      'self_test 1: the device holds 63036 in holding 2700, and 7 was expected',
    ]);
  });
});

describe('[points §1.1] a template is found by its name', () => {
  const configDir = mkdtempSync(join(tmpdir(), 'setpoint-templates-'));
  const own = join(configDir, 'templates');
  const write = (file: string, text: string): void => writeFileSync(join(own, file), text);
  mkdirSync(own);
  afterAll(() => rmSync(configDir, { recursive: true, force: true }));

  test("one of the site's own comes before one of the package, alone and in the list", () => {
    const text = readFileSync(join(import.meta.dirname, 'keba-p30.yaml'), 'utf8');
    write('keba-p30.yaml', text.replace(/^title: .*$/m, 'title: Own charger'));
    const found = readDeviceTemplates(configDir);
    expect(found.get('keba-p30')?.title).toBe('Own charger');
    const list = [...found.values()];
    expect(list.filter(({ name }) => name === 'keba-p30').map(({ title }) => title)).toEqual(['Own charger']);
    expect(list).toHaveLength(names.length);
  });

  test.each(['none', '../templates/keba-p30', ''])('an unknown name "%s" is refused', (name) => {
    expect(readDeviceTemplates(configDir).get(name)).toBeUndefined();
  });

  test('an error in a template of the site is found, whether or not it is used', () => {
    write('broken.yaml', 'name: other');
    expect(() => readDeviceTemplates(configDir)).toThrow(/templates\/broken\.yaml/);
  });
});

test('[points §3.4] a template may read a model that the site defines', async () => {
  const battery = templateOf('sunspec-battery');
  const address = { model: 64_902, point: 'ModV[2]' };
  const voltage = { id: 1, name: 'voltage', kind: 'measurement', unit: 'V', address };
  const strings: DeviceTemplate = {
    ...battery,
    points: [voltage],
    self_test: [
      {
        given: { models: [{ model: 64_902, values: { V_SF: -1, 'ModV[2]': 512 }, repetitions: 2 }] },
        then: { voltage: 51.2 },
      },
    ],
  };
  const sunSpecModels = [readModelDefinition(JSON.stringify(modules), 'model.json')];
  expect(await selfTestFaults(strings, systemClock, { sunSpecModels })).toEqual([]);
  await expect(selfTestFaults(strings, systemClock)).rejects.toThrow('SunSpec model 64902 is not known');
});

test('[points §1.1] the self-test of an MQTT template covers the availability of the device', async () => {
  const shelly = templateOf('shelly-pro-3em');
  const always = { ...shelly, channel: { driver: 'mqtt', url: 'mqtt://127.0.0.1:1883' } };
  expect(await selfTestFaults(always, systemClock)).toContain(
    'self_test 2: active_power says -1.2505 kW, and null was expected',
  );
});

test('[points §1.1] the self-test of an MQTT template covers its commands', async () => {
  const shelly = templateOf('shelly-pro-3em');
  const relay = {
    id: 1,
    name: 'relay',
    kind: 'action',
    unit: '1',
    address: { topic: 'relay', payload: 'text', map: { ON: 1, OFF: 0 } },
  };
  const faults = (value: number, published: string) => {
    const self_test = shelly.self_test.slice(0, 1).map((each) => ({
      ...each,
      write: { relay: value },
      held: { messages: { relay: published } },
    }));
    return selfTestFaults({ ...shelly, points: [...shelly.points, relay], self_test }, systemClock);
  };
  expect(await faults(1, 'ON')).toEqual([]);
  expect(await faults(0, 'ON')).toEqual(['self_test 1: relay: OFF is published, expected ON']);
  expect(await faults(5, 'ON')).toEqual(['self_test 1: relay: the map has no word for 5']);
});
