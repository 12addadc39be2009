/**
 * The self-test of a device template [points §1.1]: a device that holds what the test gives is served on loopback, a device layer
 * reads and commands it as it would the real one, and every point that says something else is a fault. MQTT needs a broker: its
 * messages are read as the driver reads them, without one.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { createCommandWriter } from '../../points/command-slots.ts';
import { createLiveTableReader } from '../../points/live-table.ts';
import { createPointMemory, currentGeneration, type PointMemory } from '../../points/shared-memory.ts';
import { mqttAddressOf } from '../../site/address.ts';
import type { DeviceSelfTest, DeviceTemplate } from '../../site/device-template.ts';
import type { Channel } from '../../site/protocol/index.ts';
import { engineeringValue, rawValue } from '../../site/scaling.ts';
import { readSite, type Site, type SitePoint } from '../../site/site.ts';
import { createSnapshot, usable } from '../../site/snapshot.ts';
import type { SunSpecModel } from '../../site/sunspec/model.ts';
import { idleDeviceCore } from '../device-core.ts';
import { deviceLimits } from '../limits.ts';
import { serveModbus } from '../modbus/modbus-server.ts';
import type { RegisterBank } from '../modbus/register-bank.ts';
import { type PayloadFormat, pathSteps, payloadOf, valueIn } from '../mqtt/mqtt-payload.ts';
import { withWords } from '../mqtt/presence.ts';
import { bankOf, placeholders, unitsOf, wordOrderOf, wordsOf } from './simulated-device.ts';

/** How long the points get to say what they should, and how often they are looked at. */
const defaultDeadlineMs = 5000;
const lookMs = 20;
const pollIntervalMs = 30;
/** Relative: scales are decimal fractions. */
const tolerance = 1e-9;

type Said = number | string | null;

interface SelfTestOptions {
  /** Those that the site defines. */
  readonly sunSpecModels?: readonly SunSpecModel[];
  readonly deadlineMs?: number;
}

/** The faults, a line each; empty when the template reads what its self-tests expect. Throws a fault of a test itself. */
export async function selfTestFaults(
  template: DeviceTemplate,
  clock: Clock,
  { sunSpecModels = [], deadlineMs = defaultDeadlineMs }: SelfTestOptions = {},
): Promise<string[]> {
  const parts = { template, clock, deadlineMs, sunSpecModels };
  const faults: string[] = [];
  for (const [at, test] of template.self_test.entries()) {
    const found = template.channel.driver === 'mqtt' ? messageFaults(template, test) : await deviceFaults(parts, test);
    faults.push(...found.map((fault) => `self_test ${at + 1}: ${fault}`));
  }
  return faults;
}

function siteOf(
  template: DeviceTemplate,
  { parameters }: DeviceSelfTest,
  sunSpecModels: readonly SunSpecModel[] = [],
): Site {
  const instance = {
    id: 1,
    name: 'device',
    template: template.name,
    parameters: { ...placeholders(template), ...parameters },
  };
  const text = {
    schema: 'svc.site.v1',
    site: { id: 'test', name: 'test', timezone: 'UTC' },
    channels: [],
    instances: [instance],
  };
  return readSite(JSON.stringify(text), template.name, {
    templates: new Map([[template.name, template]]),
    sunSpecModels,
  });
}

function messageFaults(template: DeviceTemplate, test: DeviceSelfTest): string[] {
  const site = siteOf(template, test);
  const written = new Map<number, number>();
  const faults = Object.entries(test.write ?? {}).flatMap(([name, value]) => {
    const point = site.points.find((each) => each.kind === 'action' && each.name === name);
    if (point === undefined) return [`unknown action point ${name}`];
    written.set(point.index, value);
    return publishedFaults(test, point, value);
  });
  const said = mismatches(test, site, (point) => {
    const own = written.get(point.index);
    if (own !== undefined) return own;
    const text = givenMessage(test, mqttAddressOf(point).topic);
    if (text === undefined || !isThere(test, site, point)) return null;
    const value = valueIn(Buffer.from(text), formatOf(point));
    if (value === null) return null;
    return 'text' in value ? value.text : engineeringValue(value.number, point);
  });
  return [...faults, ...said];
}

function givenMessage({ given }: DeviceSelfTest, topic: string): string | undefined {
  const message = given.messages?.[topic];
  return message === undefined || typeof message === 'string' ? message : JSON.stringify(message);
}

/** By the availability of its device. */
function isThere(test: DeviceSelfTest, site: Site, point: SitePoint): boolean {
  const channel = site.channels[point.channel];
  const presence = withWords(
    mqttAddressOf(point).availability ?? (channel?.driver === 'mqtt' ? channel.availability : undefined),
  );
  return presence === undefined || givenMessage(test, presence.topic) === presence.online;
}

function formatOf(point: SitePoint): PayloadFormat {
  const { path = '$', payload = 'json', map } = mqttAddressOf(point);
  return { payload, steps: pathSteps(path), map };
}

/** The messages that the command publishes, beside those that the test expects on its topic. */
function publishedFaults({ held }: DeviceSelfTest, point: SitePoint, value: number): string[] {
  const { topic } = mqttAddressOf(point);
  const payload = payloadOf(rawValue(value, point), formatOf(point));
  if (payload === null) return [`${point.name}: the map has no word for ${value}`];
  const expected = held?.messages?.[topic];
  if (expected === undefined) return [];
  const text = typeof expected === 'string' ? expected : JSON.stringify(expected);
  return payload === text ? [] : [`${point.name}: ${payload} is published, expected ${text}`];
}

async function deviceFaults(
  {
    template,
    clock,
    deadlineMs,
    sunSpecModels,
  }: Required<SelfTestOptions> & {
    readonly template: DeviceTemplate;
    readonly clock: Clock;
  },
  test: DeviceSelfTest,
): Promise<string[]> {
  const order = wordOrderOf(template);
  const bank = bankOf(test, order, sunSpecModels);
  const site = siteOf(template, test, sunSpecModels);
  const units = unitsOf(template, test);
  const server = await serveModbus({
    host: '127.0.0.1',
    port: 0,
    framing: Reflect.get(site.channels[0] ?? {}, 'framing') === 'rtu' ? 'rtu' : 'tcp',
    answer: ({ unit, pdu, frame }, send) => {
      if (units.includes(unit)) send(frame(bank.answer(pdu)));
    },
  });
  const device = run(at(site, server.port), clock, deadlineMs);
  try {
    const refused: string[] = [];
    for (const [name, value] of Object.entries(test.write ?? {})) refused.push(...(await device.write(name, value)));
    await device.until(() => mismatches(test, device.site, device.says).length === 0);
    // A value that should be missing may only not have been read yet.
    await sleep(clock, 2 * pollIntervalMs);
    const faults = mismatches(test, device.site, device.says);
    return [...refused, ...faults, ...heldFaults(test, bank, order)];
  } finally {
    await device.stop();
    await server.close();
  }
}

/** The site with its one channel at the served device, and quick. */
function at(site: Site, port: number): Site {
  const moved = (channel: Channel): Channel =>
    channel.driver === 'modbus-tcp' || channel.driver === 'sunspec'
      ? { ...channel, host: '127.0.0.1', port, poll_interval_ms: pollIntervalMs }
      : channel;
  return {
    ...site,
    channels: site.channels.map(moved),
    points: site.points.map((point) => ({ ...point, pollIntervalMs: undefined })),
  };
}

interface RunningDevice {
  readonly site: Site;
  readonly says: (point: SitePoint) => Said;
  /** Faults of the command. */
  write(name: string, value: number): Promise<string[]>;
  until(isTrue: () => boolean): Promise<boolean>;
  stop(): Promise<void>;
}

function run(site: Site, clock: Clock, deadlineMs: number): RunningDevice {
  const memory: PointMemory = createPointMemory(site.points, site.channels.length);
  const materials = { simulated: new Map(), mqtt: new Map() };
  const core = idleDeviceCore(
    { site, memory, generation: currentGeneration(memory), limits: deviceLimits, materials },
    clock,
    silentLog,
  );
  core.connect();
  const reader = createLiveTableReader(memory);
  const writer = createCommandWriter(memory, clock);
  const says = (point: SitePoint): Said => {
    const text = core.texts().find(({ index }) => index === point.index)?.text;
    if (text !== undefined) return text;
    const snapshot = createSnapshot(site.points.length);
    if (!reader.copyInto(snapshot, clock)) return null;
    return usable(snapshot, point.index, deadlineMs) ? (snapshot.values[point.index] ?? null) : null;
  };
  const until = async (isTrue: () => boolean): Promise<boolean> => {
    const endMs = clock.monotonicMs() + deadlineMs;
    while (!isTrue()) {
      if (clock.monotonicMs() > endMs) return false;
      await sleep(clock, lookMs);
    }
    return true;
  };
  return {
    site,
    says,
    until,
    async write(name, value) {
      const point = site.points.find((each) => each.kind === 'action' && each.name === name);
      if (point === undefined) return [`unknown action point ${name}`];
      const isOnline = (): boolean => Atomics.load(memory.online, point.channel) === 1;
      if (!(await until(isWriteOnly(point) ? isOnline : () => says(point) !== null)))
        return [`${name} was not read, so it is not written`];
      const command = {
        pointIndex: point.index,
        value,
        priority: 0,
        asked: value,
        by: { kind: 'rule', id: '1' },
      } as const;
      writer.submit({ ...command, generation: currentGeneration(memory) });
      return (await until(() => isClose(says(point), value)))
        ? []
        : [`${name}: ${value} was written, and it says ${String(says(point))}`];
    },
    stop: () => core.stop(),
  };
}

function isWriteOnly({ address }: SitePoint): boolean {
  return address !== undefined && 'table' in address && address.write_only === true;
}

function mismatches(test: DeviceSelfTest, site: Site, says: (point: SitePoint) => Said): string[] {
  return Object.entries(test.then).flatMap(([name, expected]) => {
    const point = site.points.find((each) => each.name === name);
    if (point === undefined) return [`unknown point ${name}`];
    const said = says(point);
    return isClose(said, expected)
      ? []
      : [`${name} says ${String(said)} ${point.unit}, and ${String(expected)} was expected`];
  });
}

function isClose(said: Said, expected: Said): boolean {
  if (typeof said !== 'number' || typeof expected !== 'number') return said === expected;
  return Math.abs(said - expected) <= tolerance * Math.max(1, Math.abs(expected));
}

function heldFaults({ held }: DeviceSelfTest, bank: RegisterBank, order: ReturnType<typeof wordOrderOf>): string[] {
  return Object.entries(held?.registers ?? {}).flatMap(([table, entries]) =>
    Object.entries(entries).flatMap(([first, words]) =>
      wordsOf(words, order).flatMap((expected, offset) => {
        const register = Number(first) + offset;
        const found = bank.get(table as 'holding', register);
        return found === expected
          ? []
          : [`the device holds ${String(found)} in ${table} ${register}, and ${expected} was expected`];
      }),
    ),
  );
}
