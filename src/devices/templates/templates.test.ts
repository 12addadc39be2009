/**
 * The self-test of every device template [points §1.1]: a device that holds what the test gives is served on loopback, the
 * template's channel reads and commands it, and the points say what the test expects.
 */
import { afterEach, describe, expect, test } from 'vitest';
import type { DeviceSelfTest, DeviceTemplate, RegisterWords } from '../../site/device-template.ts';
import { templateChannelId } from '../../site/instances.ts';
import { type RunningDevices, runDevices } from '../../testing/driver-contract.ts';
import { startMqttBroker } from '../../testing/mqtt-broker.ts';
import { serveModbus } from '../modbus/modbus-server.ts';
import type { RegisterBank } from '../modbus/register-bank.ts';
import { bankOf, unitsOf, wordOrderOf, wordsOf } from './simulated-device.ts';
import { readDeviceTemplates } from './template-files.ts';

const templates = readDeviceTemplates('.');
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function start(template: DeviceTemplate, parameters: Readonly<Record<string, unknown>>): RunningDevices {
  const text = JSON.stringify({
    schema: 'svc.site.v1',
    site: { id: 's', name: 's', timezone: 'UTC' },
    channels: [],
    instances: [{ id: 1, name: 'device', template: template.name, parameters }],
  });
  const devices = runDevices(text, { configDir: '.', dataDir: '.' }, {}, {}, new Map([[template.name, template]]));
  closers.push(() => devices.layer.terminate());
  return devices;
}

/** A served device, and what it holds of a register. */
async function served(template: DeviceTemplate, selfTest: DeviceSelfTest) {
  const order = wordOrderOf(template);
  const bank: RegisterBank = bankOf(selfTest, order);
  const units = unitsOf(template, selfTest);
  const server = await serveModbus({
    host: '127.0.0.1',
    port: 0,
    answer: ({ unit, pdu, frame }, send) => {
      if (units.includes(unit)) send(frame(bank.answer(pdu)));
    },
  });
  closers.push(() => server.close());
  const held = (table: string, first: number, words: RegisterWords) =>
    wordsOf(words, order).map((_, at) => bank.get(table as 'holding', first + at));
  return { port: server.port, held, order };
}

async function expectSelfTest(template: DeviceTemplate, selfTest: DeviceSelfTest): Promise<void> {
  const isMqtt = template.channel.driver === 'mqtt';
  const broker = isMqtt ? await startMqttBroker() : undefined;
  if (broker !== undefined) closers.push(() => broker.stop());
  const device = isMqtt ? undefined : await served(template, selfTest);
  const place =
    broker === undefined ? { host: '127.0.0.1', port: device?.port } : { broker: `mqtt://127.0.0.1:${broker.port}` };
  const quick = Object.hasOwn(template.parameters, 'poll_interval_ms') ? { poll_interval_ms: 30 } : {};
  const devices = start(template, { ...quick, ...selfTest.parameters, ...place });
  await devices.online();
  for (const [topic, payload] of Object.entries(selfTest.given.messages ?? {}))
    await broker?.publish(topic, JSON.stringify(payload));
  const pointOf = (name: string, kind?: string) => {
    const found = devices.site.points.find(
      (point) => point.name === name && (kind === undefined || point.kind === kind),
    );
    if (found === undefined) throw new Error(`the template has no point ${name}`);
    return found;
  };
  for (const [name, value] of Object.entries(selfTest.write ?? {})) {
    const { index } = pointOf(name, 'action');
    await expect.poll(() => devices.value(index), { timeout: 5000 }).not.toBeNull();
    expect(devices.command(index, value)).toBe('accepted');
    await expect.poll(() => devices.value(index) ?? Number.NaN, { timeout: 5000 }).toBeCloseTo(value, 6);
  }
  const texts = async (): Promise<ReadonlyMap<number, string>> =>
    new Map((await devices.layer.texts()).map(({ index, text }) => [index, text]));
  for (const [name, expected] of Object.entries(selfTest.then)) {
    const { index } = pointOf(name);
    if (typeof expected === 'string') await expect.poll(async () => (await texts()).get(index)).toBe(expected);
    else if (expected === null) expect(devices.value(index), name).toBeNull();
    else
      await expect
        .poll(() => devices.value(index) ?? Number.NaN, { timeout: 5000, message: name })
        .toBeCloseTo(expected, 6);
  }
  for (const [table, entries] of Object.entries(selfTest.held?.registers ?? {}))
    for (const [first, words] of Object.entries(entries))
      expect(device?.held(table, Number(first), words), `${table} ${first}`).toEqual(
        wordsOf(words, device?.order ?? 'big'),
      );
}

describe('[points §1.1] device templates', () => {
  test('there are at least twelve, each with the source of its registers', () => {
    expect(templates.size).toBeGreaterThanOrEqual(12);
    for (const { source } of templates.values()) expect(source.length).toBeGreaterThan(10);
  });

  test.each([...templates.keys()])('%s', async (name) => {
    const template = templates.get(name);
    if (template === undefined) throw new Error(`no template ${name}`);
    for (const selfTest of template.self_test) await expectSelfTest(template, selfTest);
  });

  test.each(['sma-tripower', 'eastron-sdm630', 'abb-b23', 'keba-p30'])(
    '%s with every point one register further is found wrong',
    async (name) => {
      const template = templates.get(name);
      const [selfTest] = template?.self_test ?? [];
      if (template === undefined || selfTest === undefined) throw new Error(`no template ${name}`);
      const points = template.points.map((point) => {
        const address = Reflect.get(point, 'address') as { readonly register: number };
        return { ...point, address: { ...address, register: address.register + 1 } };
      });
      const shifted = { ...template, points };
      const device = await served(shifted, selfTest);
      const devices = start(shifted, { host: '127.0.0.1', port: device.port, poll_interval_ms: 30 });
      await devices.online();
      await expect.poll(async () => (await devices.layer.traffic())[0]?.unread, { timeout: 5000 }).toBeGreaterThan(0);
      const said = devices.site.points.filter(({ name: point }) => selfTest.then[point] !== null);
      expect(said.filter(({ index, name: point }) => devices.value(index) === selfTest.then[point])).toEqual([]);
      expect(templateChannelId(name, 1)).toBe(devices.site.channels[0]?.id);
    },
  );
});
