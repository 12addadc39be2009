/** Devices of a template that share a channel of the site [points §1.1]: what each keeps for itself, and what the channel decides. */
import { describe, expect, test } from 'vitest';
import { modbusAddressOf, mqttAddressOf } from './address.ts';
import { readDeviceTemplate } from './device-template.ts';
import { readSite } from './site.ts';

const meter = `
schema: svc.device-template.v1
name: meter
title: A meter
source: invented
parameters:
  host: { type: text }
  unit_id: { type: integer, default: 1 }
  poll_interval_ms: { type: integer, default: 1000 }
  first: { type: integer, default: 10 }
channel:
  driver: modbus-tcp
  host: "\${host}"
  port: 502
  unit_id: "\${unit_id}"
  poll_interval_ms: "\${poll_interval_ms}"
  timeout_ms: 500
  word_order: little
points:
  - { id: 1, name: power, kind: measurement, unit: kW, address: { table: input, register: "\${first}", type: float32 } }
  - { id: 2, name: open, kind: measurement, unit: "1", address: { table: coil, register: 3, type: bool } }
  - { id: 3, name: odd, kind: measurement, unit: kW, poll_interval_ms: 9000, address: { table: input, register: 20, type: int32, word_order: big, unit_id: 99 } }
self_test: [{ given: {}, then: {} }]
`;
const shelly = `
schema: svc.device-template.v1
name: shelly
title: A meter
source: invented
parameters:
  broker: { type: text }
  prefix: { type: text }
channel: { driver: mqtt, url: "\${broker}", availability: { topic: "\${prefix}/online", online: "true" } }
points:
  - { id: 1, name: power, kind: measurement, unit: kW, address: { topic: "\${prefix}/status" } }
self_test: [{ given: {}, then: {} }]
`;
const sums = `
schema: svc.device-template.v1
name: sums
title: Sums
source: invented
parameters: {}
channel: { driver: virtual }
points:
  - { id: 1, name: total, kind: measurement, unit: kW }
self_test: [{ given: {}, then: {} }]
`;
const scaled = `
schema: svc.device-template.v1
name: scaled
title: A point with a scale
source: invented
parameters: { scale: { type: number } }
channel: { driver: virtual }
points:
  - { id: 1, name: power, kind: measurement, unit: kW, scale: "\${scale}" }
self_test: [{ given: {}, then: {} }]
`;
const templates = new Map(
  [meter, shelly, sums, scaled].map((text) => {
    const template = readDeviceTemplate(text, 'template.yaml');
    return [template.name, template] as const;
  }),
);
const channels = {
  gateway:
    '{ id: gateway, driver: modbus-tcp, host: 10.0.0.9, port: 1502, unit_id: 7, poll_interval_ms: 2000, timeout_ms: 3000, word_order: big }',
  broker: '{ id: broker, driver: mqtt, url: "mqtt://10.0.0.9:1883", username_env: USER_OF_BROKER }',
  inverter: '{ id: inverter, driver: sunspec, host: 10.0.0.9 }',
  derived: '{ id: derived, driver: virtual }',
};

function site(...instances: readonly string[]) {
  const text = [
    'schema: svc.site.v1',
    'site: { id: bakery, name: Bakery, timezone: UTC }',
    `channels: [${Object.values(channels).join(', ')}]`,
    'instances:',
    ...instances.map((instance, at) => `  - { id: ${at + 1}, name: device ${at + 1}, ${instance} }`),
  ];
  return readSite(text.join('\n'), 'site.yaml', { templates, sunSpecModels: [] });
}

describe('[points §1.1] devices of a template on a shared channel', () => {
  test('each keeps its unit, word order and poll interval, and needs no host', () => {
    const { points, channels: read } = site(
      'template: meter, channel: gateway, parameters: { unit_id: 2 }',
      'template: meter, channel: gateway, parameters: { unit_id: 3, poll_interval_ms: 5000 }',
    );
    expect(read.map(({ id }) => id)).toEqual(['gateway', 'broker', 'inverter', 'derived']);
    const of = (instance: number) => points.filter((point) => point.instance === instance);
    expect(of(1).map((point) => modbusAddressOf(point))).toEqual([
      { table: 'input', register: 10, type: 'float32', unit_id: 2, word_order: 'little' },
      // A bit has no order.
      { table: 'coil', register: 3, type: 'bool', unit_id: 2 },
      // What the template says of one point stays.
      { table: 'input', register: 20, type: 'int32', unit_id: 99, word_order: 'big' },
    ]);
    expect(of(2).map((point) => modbusAddressOf(point).unit_id)).toEqual([3, 3, 99]);
    expect(of(1).map(({ pollIntervalMs }) => pollIntervalMs)).toEqual([undefined, undefined, 9000]);
    expect(of(2).map(({ pollIntervalMs }) => pollIntervalMs)).toEqual([5000, 5000, 9000]);
  });

  test('the channel of one device may be shared by others, before it or after', () => {
    const { points, channels: read } = site(
      'template: meter, channel: meter-2, parameters: { unit_id: 5 }',
      'template: meter, parameters: { host: 10.0.0.7, unit_id: 6 }',
      'template: meter, channel: meter-2, parameters: { unit_id: 7 }',
    );
    expect(read).toHaveLength(5);
    expect(new Set(points.map(({ channel }) => channel))).toEqual(new Set([4]));
    expect(points.filter(({ id }) => id === 1).map((point) => modbusAddressOf(point).unit_id)).toEqual([
      5,
      undefined,
      7,
    ]);
  });

  test('without its parameter the unit is that of the channel', () => {
    const [power] = site('template: meter, channel: gateway').points;
    if (power === undefined) throw new Error('no point');
    expect(modbusAddressOf(power)).toEqual({ table: 'input', register: 10, type: 'float32', word_order: 'little' });
  });

  test('devices of one broker have their own availability', () => {
    const { points } = site(
      'template: shelly, channel: broker, parameters: { prefix: a }',
      'template: shelly, channel: broker, parameters: { prefix: b }',
    );
    expect(points.map((point) => mqttAddressOf(point))).toEqual([
      { topic: 'a/status', availability: { topic: 'a/online', online: 'true' } },
      { topic: 'b/status', availability: { topic: 'b/online', online: 'true' } },
    ]);
  });

  test('points of a channel without addresses get none', () => {
    expect(site('template: sums, channel: derived').points[0]).toMatchObject({ name: 'total', address: undefined });
  });

  test('the settings of the channel itself may be repeated, and not contradicted', () => {
    expect(site('template: meter, channel: gateway, parameters: { host: 10.0.0.9 }').points).toHaveLength(3);
    expect(() => site('template: meter, channel: gateway, parameters: { host: 10.0.0.8 }')).toThrow(
      'site.yaml:5: /instances/0/parameters/host 10.0.0.8 is not the host of channel gateway: omit host, or omit channel so that the device gets its own',
    );
  });

  test.each([
    ['template: shelly, channel: broker', 'parameters/prefix template shelly needs the parameter prefix (text)'],
    ['template: meter, channel: gateway, parameters: { unit_id: x }', 'parameters/unit_id must be a whole number'],
    [
      'template: meter, channel: gateway, parameters: { unit: 2 }',
      'parameters/unit template meter has no parameter unit',
    ],
    ['template: meter, channel: inverter', 'channel template meter is for a modbus-tcp channel; inverter is sunspec'],
    ['template: meter, channel: cellar', 'channel unknown channel cellar'],
    ['template: metre', 'template unknown device template metre'],
    ['template: meter, parameters: { host: 5 }', 'parameters/host must be a text'],
    ['template: meter, parameters: { host: a, first: 1.5 }', 'parameters/first must be a whole number'],
    ['template: scaled, parameters: { scale: "2" }', 'parameters/scale must be a number'],
    ['points: [], parameters: { host: a }', 'parameters parameters needs a template'],
    ['points: [], channel: gateway', 'channel channel needs a template'],
  ])('refused: %s', (instance, reason) => {
    expect(() => site(instance)).toThrow(`/instances/0/${reason}`);
  });

  test('a number may have a fraction', () => {
    expect(site('template: scaled, parameters: { scale: 0.5 }').points[0]).toMatchObject({ scale: 0.5 });
  });

  test('an instance has points or a template', () => {
    expect(() => site('')).toThrow('/instances/0 an instance needs points or a template');
    expect(site('points: []').points).toEqual([]);
  });
});
