/** site.yaml: the example reads whole, and everything that is wrong stops the start with file and line. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { YamlError } from '../base/yaml.ts';
import { channelsMaximum, instancesMaximum, pointsMaximum, readSite, type SitePoint } from './site.ts';
import { siteCatalogue } from './site-catalogue.ts';

const example = readFileSync(new URL('./fixture/site.yaml', import.meta.url), 'utf8');

/** The lines with which a text is refused. */
function refusal(text: string): readonly string[] {
  try {
    readSite(text, 'site.yaml');
  } catch (error) {
    if (error instanceof YamlError) return error.lines;
    throw error;
  }
  throw new Error('the site was accepted');
}

/** A site of one Modbus, one virtual and one simulated channel with the given points, one a line from line 12 on. */
function siteWith(...points: string[]): string {
  return [
    'schema: svc.site.v1',
    'site: { id: s, name: S, timezone: UTC }',
    'channels:',
    '  - { id: plc, driver: modbus-tcp, host: h, port: 502, unit_id: 1, poll_interval_ms: 200, timeout_ms: 500, word_order: big }',
    '  - { id: derived, driver: virtual }',
    '  - { id: plant, driver: simulated, load_series: l.csv, pv_series: p.csv, step_interval_ms: 500, speed: 1, battery: { capacity_kwh: 1, max_power_kw: 1, initial_soc_percent: 50, efficiency: 1 }, genset: { rated_kw: 1 } }',
    'instances:',
    '  - { id: 1, name: empty, points: [] }',
    '  - id: 2',
    '    name: full',
    '    points:',
    ...points.map((point) => `      - { name: p, unit: kW, ${point} }`),
  ].join('\n');
}
const holding = 'channel: plc, address: { table: holding, register: 0, type: int16 }';
const refusedPoint = (point: string): readonly string[] => refusal(siteWith(point));
const onlyPoint = (point: string): SitePoint => {
  const read = readSite(siteWith(point), 'site.yaml').points[0];
  if (read === undefined) throw new Error('no point');
  return read;
};

describe('[points §1] site.yaml, the example', () => {
  const site = readSite(example, 'site.yaml');

  test('reads whole', () => {
    expect(site).toMatchObject({
      id: 'plant-7',
      name: 'Plant 7',
      timezone: 'Europe/Amsterdam',
      latitude: 52.37,
      longitude: 4.9,
      holidays: ['2026-12-25', '2026-12-26', '2027-01-01'],
      history: { recordIntervalMs: 1000, retentionDays: 400 },
    });
    expect(site.parameters).toEqual({
      soc_lower_limit: { value: 20, unit: '%' },
      soc_upper_limit: { value: 90, unit: '%' },
      demand_limit: { value: 400, unit: 'kW' },
    });
    expect(site.channels.map(({ id, driver }) => [id, driver])).toEqual([
      ['inverter', 'modbus-tcp'],
      ['broker', 'mqtt'],
      ['derived', 'virtual'],
    ]);
    expect(site.channels[1]).toMatchObject({ username_env: 'SVC_MQTT_USERNAME', password_env: 'SVC_MQTT_PASSWORD' });
    expect(site.points).toHaveLength(7);
  });

  test('index order is the order of the file', () => {
    expect(site.points.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(site.points.map(({ instance, kind, id }) => `${instance}:${kind}:${id}`)).toEqual([
      '4:measurement:1',
      '4:measurement:2',
      '4:action:1',
      '4:action:2',
      '2:measurement:1',
      '2:measurement:2',
      '6:measurement:1',
    ]);
  });

  test('every member of a point arrives', () => {
    expect(site.points[1]).toMatchObject({ scale: 0.1, offset: 0, signConvention: 'positive_discharge', record: true });
    expect(site.points[2]).toEqual({
      index: 2,
      instance: 4,
      kind: 'action',
      id: 1,
      name: 'power_setpoint',
      unit: 'kW',
      scale: 1,
      offset: 0,
      min: -500,
      max: 500,
      step: 0.1,
      register: { scale: 1, offset: 0, whole: false, low: -3.4028234663852886e38, high: 3.4028234663852886e38 },
      invalid: [],
      channel: 0,
      address: { table: 'holding', register: 100, type: 'float32' },
      isText: false,
      signConvention: undefined,
      record: false,
      counter: false,
      pollIntervalMs: undefined,
      maxAgeMs: 1000,
      maxWritesPerMinute: 60,
      safeValue: 0,
      holdMaxMs: 60_000,
      priorityHoldMs: 0,
      writable: true,
    });
    expect(site.points[4]?.address).toEqual({ topic: 'plant7/load', path: '$.p_kw' });
  });

  test('crosses threads as it is', () => {
    expect(structuredClone(site)).toEqual(site);
  });

  test('the catalogue finds points by instance, kind and id, and parameters by name', () => {
    const catalogue = siteCatalogue(site);
    expect(catalogue.timezone).toBe('Europe/Amsterdam');
    expect(catalogue.point({ instance: 4, point_type: 'measurement', point: 1 })).toMatchObject({
      index: 0,
      name: 'soc',
    });
    expect(catalogue.point({ instance: 4, point_type: 'action', point: 1 })).toMatchObject({ index: 2, step: 0.1 });
    expect(catalogue.point({ instance: 4, point_type: 'action', point: 9 })).toBeUndefined();
    expect(catalogue.parameter('demand_limit')).toEqual({ value: 400, unit: 'kW' });
    for (const name of ['nothing', 'constructor', '__proto__']) expect(catalogue.parameter(name)).toBeUndefined();
  });
});

describe('[points §1] properties derived from the channel', () => {
  test('values go stale after 5 polls (Modbus), 5 steps (simulated), 60 s (MQTT), never (virtual)', () => {
    expect(onlyPoint(`id: 1, kind: measurement, ${holding}`).maxAgeMs).toBe(1000);
    expect(onlyPoint('id: 1, kind: measurement, channel: plant, address: { signal: load_kw }').maxAgeMs).toBe(2500);
    expect(onlyPoint('id: 1, kind: measurement, channel: derived').maxAgeMs).toBe(Number.POSITIVE_INFINITY);
    expect(readSite(example, 'site.yaml').points[6]?.maxAgeMs).toBe(60_000);
    expect(onlyPoint('id: 1, kind: measurement, channel: derived, max_age_ms: 5').maxAgeMs).toBe(5);
  });

  test('[points §2] the range of an action point lies within the range of its register', () => {
    const range = (more: string) => {
      const { min, max, register } = onlyPoint(`id: 1, kind: action, channel: plc, ${more}`);
      return [min, max, register?.whole];
    };
    const at = (type: string, table = 'holding') => `address: { table: ${table}, register: 1, type: ${type} }`;
    expect(range(at('uint16'))).toEqual([0, 65_535, true]);
    expect(range(`min: -5, max: 70000, ${at('uint16')}`)).toEqual([0, 65_535, true]);
    expect(range(`min: 1, max: 5, ${at('uint16')}`)).toEqual([1, 5, true]);
    expect(range(`scale: -0.1, offset: 10, ${at('int16')}`)).toEqual([-3266.7, 3286.8, true]);
    expect(range(at('bool', 'coil'))).toEqual([0, 1, true]);
    expect(range(at('float32'))).toEqual([undefined, undefined, false]);
    expect(range(at('float64'))).toEqual([undefined, undefined, undefined]);
    expect(onlyPoint(`id: 1, kind: measurement, min: -5, ${holding}`)).toMatchObject({ min: -5, register: undefined });
  });

  test('measurements can be written on a virtual channel only', () => {
    expect(onlyPoint('id: 1, kind: measurement, channel: derived').writable).toBe(true);
    expect(onlyPoint(`id: 1, kind: measurement, ${holding}`).writable).toBe(false);
    expect(onlyPoint(`id: 1, kind: action, ${holding}`).writable).toBe(true);
  });
});

describe('[points §1] refused with file, line and reason', () => {
  const line = 12;

  test.each([
    [
      'an unknown key of the site',
      example.replace('timezone:', 'zone: x\n  timezone:'),
      /^site\.yaml:6: \/site\/zone /,
    ],
    ['a duplicate key', `${example}\nhistory: {}`, /^site\.yaml:58: duplicate key/],
    ['an unknown top key', `${example}\nextra: 1`, /^site\.yaml:58: \/extra /],
    ['another schema', example.replace('site.v1', 'site.v2'), /^site\.yaml:2: \/schema .*svc\.site\.v1/],
    ['a time zone nobody knows', example.replace('Europe/Amsterdam', 'Europe/Atlantis'), /^site\.yaml:6: .*time zone/],
    ['a latitude off the globe', example.replace('52.37', '152.37'), /^site\.yaml:7: \/site\/latitude /],
    [
      'a day that is not a day',
      example.replace('2026-12-26', '2026-02-30'),
      /^site\.yaml:9: .*2026-02-30 is not a date/,
    ],
    [
      'a parameter above its range',
      example.replace('value: 400, unit: kW', 'value: 400, unit: kW, max: 399'),
      /^site\.yaml:13: \/parameters\/demand_limit value lies outside min\.\.max/,
    ],
    [
      'a parameter below its range',
      example.replace('value: 400, unit: kW', 'value: 400, unit: kW, min: 401'),
      /^site\.yaml:13: \/parameters\/demand_limit value lies outside min\.\.max/,
    ],
    ['a parameter that is not finite', example.replace('value: 400', 'value: .nan'), /^site\.yaml:13: .*finite/],
    [
      'an unknown driver',
      example.replace('driver: virtual', 'driver: knx'),
      /^site\.yaml:29: .*unknown driver knx; known are /,
    ],
    [
      'a driver named like a method',
      example.replace('driver: virtual', 'driver: toString'),
      /^site\.yaml:29: .*unknown driver/,
    ],
    [
      'an unknown setting of a channel',
      example.replace('port: 5020', 'prt: 5020'),
      /^site\.yaml:18: \/channels\/0\/prt /,
    ],
    ['a setting out of range', example.replace('port: 5020', 'port: 70000'), /^site\.yaml:18: \/channels\/0\/port /],
    ['a duplicate channel', example.replace('id: derived', 'id: broker'), /^site\.yaml:28: .*duplicate channel broker/],
    ['a duplicate instance', example.replace('- id: 6', '- id: 2'), /^site\.yaml:50: .*duplicate instance 2/],
    [
      'a port that no broker has',
      example.replace('127.0.0.1:1883', '127.0.0.1:99999'),
      /^site\.yaml:25: .*url is not a valid address/,
    ],
    [
      'certificates without TLS',
      example.replace('username_env: SVC', 'ca_file: ca.pem\n    username_env: SVC'),
      /ca_file needs a mqtts/,
    ],
    [
      'a secret in place of its name',
      example.replace('SVC_MQTT_PASSWORD', 'hunter2'),
      /^site\.yaml:27: .*password_env /,
    ],
  ])('%s', (_, text, expected) => {
    expect(refusal(text)).toContainEqual(expect.stringMatching(expected));
  });

  test.each([
    ['a channel that is not there', `id: 1, kind: action, channel: gone`, 'channel', 'unknown channel gone'],
    ['an unknown key', `id: 1, kind: action, color: red, ${holding}`, 'color', 'known field'],
    ['an unknown kind', `id: 1, kind: setting, ${holding}`, 'kind', 'must be one of'],
    ['no address', 'id: 1, kind: action, channel: plc', '', 'needs an address'],
    [
      'an address where there is none',
      'id: 1, kind: measurement, channel: derived, address: {}',
      'address',
      'no address',
    ],
    [
      'an address of another driver',
      'id: 1, kind: action, channel: plc, address: { topic: x }',
      'address',
      'known field',
    ],
    [
      'an unknown table',
      `id: 1, kind: action, ${holding.replace('holding', 'file')}`,
      'address/table',
      'must be one of',
    ],
    [
      'a register out of range',
      `id: 1, kind: action, ${holding.replace('register: 0', 'register: 65536')}`,
      'address/register',
      'at most 65535',
    ],
    [
      'a value beyond the last register',
      `id: 1, kind: action, channel: plc, address: { table: holding, register: 65535, type: float32 }`,
      'address/register',
      'beyond the last',
    ],
    [
      'bool in a register',
      `id: 1, kind: action, ${holding.replace('int16', 'bool')}`,
      'address/type',
      'bool goes with coil and discrete',
    ],
    [
      'a number in a coil',
      `id: 1, kind: action, ${holding.replace('holding', 'coil')}`,
      'address/type',
      'a coil or discrete input is a bool',
    ],
    [
      'a write to input registers',
      `id: 1, kind: action, ${holding.replace('holding', 'input')}`,
      'address/table',
      'cannot be written',
    ],
    [
      'a command signal as measurement',
      'id: 1, kind: measurement, channel: plant, address: { signal: genset_run }',
      'address/signal',
      'is an action',
    ],
    [
      'a meter as action',
      'id: 1, kind: action, channel: plant, address: { signal: load_kw }',
      'address/signal',
      'is a measurement',
    ],
    ['scale 0', `id: 1, kind: measurement, scale: 0, ${holding}`, 'scale', 'must not be 0'],
    ['an infinite scale', `id: 1, kind: measurement, scale: .inf, ${holding}`, 'scale', 'finite'],
    ['min above max', `id: 1, kind: action, min: 2, max: 1, ${holding}`, 'min', 'above max'],
    [
      'a range that its register cannot hold',
      'id: 1, kind: action, max: -1, channel: plc, address: { table: holding, register: 1, type: uint16 }',
      'address',
      'cannot hold',
    ],
    [
      'a safe_value that its register cannot hold',
      'id: 1, kind: action, safe_value: -1, hold_max_ms: 5, channel: plc, address: { table: holding, register: 1, type: uint16 }',
      'safe_value',
      'outside',
    ],
    [
      '17 invalid values',
      `id: 1, kind: measurement, invalid: [${Array.from({ length: 17 }, (_, i) => i).join(', ')}], ${holding}`,
      'invalid',
      '16',
    ],
    [
      'a poll interval where nothing is polled',
      'id: 1, kind: measurement, channel: derived, poll_interval_ms: 1000',
      'poll_interval_ms',
      'points of a virtual channel are not polled',
    ],
    ['step 0', `id: 1, kind: action, step: 0, ${holding}`, 'step', 'more than 0'],
    ['safe_value without hold_max_ms', `id: 1, kind: action, safe_value: 0, ${holding}`, 'safe_value', 'go together'],
    ['hold_max_ms without safe_value', `id: 1, kind: action, hold_max_ms: 5, ${holding}`, 'hold_max_ms', 'go together'],
    [
      'a safe_value out of range',
      `id: 1, kind: action, max: 5, safe_value: 6, hold_max_ms: 5, ${holding}`,
      'safe_value',
      'outside',
    ],
    [
      'write settings of a measurement',
      `id: 1, kind: measurement, priority_hold_ms: 5, ${holding}`,
      'priority_hold_ms',
      'written',
    ],
    ['a negative id', `id: -1, kind: action, ${holding}`, 'id', 'at least 0'],
  ])('a point with %s', (_, point, member, reason) => {
    expect(refusedPoint(point)).toContainEqual(
      expect.stringMatching(
        new RegExp(`^site\\.yaml:${line}: /instances/1/points/0${member === '' ? '' : `/${member}`}.*${reason}`),
      ),
    );
  });

  test('values at the edge of their range are accepted', () => {
    const text = example.replace('value: 400, unit: kW', 'value: 400, unit: kW, min: 400, max: 400');
    expect(readSite(text, 'site.yaml').parameters['demand_limit']).toEqual({
      value: 400,
      unit: 'kW',
      min: 400,
      max: 400,
    });
    const safe = (value: number) =>
      `id: 1, kind: action, min: 2, max: 5, safe_value: ${value}, hold_max_ms: 5, ${holding}`;
    expect([2, 5].map((value) => onlyPoint(safe(value)).safeValue)).toEqual([2, 5]);
    expect(onlyPoint(`id: 1, kind: action, min: 2, max: 2, ${holding}`)).toMatchObject({ min: 2, max: 2 });
  });

  test('a duplicate point; equal ids of different kinds are two points', () => {
    const action = `id: 1, kind: action, ${holding}`;
    const measurement = `id: 1, kind: measurement, ${holding}`;
    expect(readSite(siteWith(action, measurement), 'site.yaml').points).toHaveLength(2);
    expect(refusal(siteWith(action, measurement, action))).toEqual([
      'site.yaml:14: /instances/1/points/2/id duplicate action point 1 of instance 2',
    ]);
  });

  test('all errors at once, in the order of the file, without consequential ones', () => {
    const text = siteWith(`id: 1, kind: action, scale: 0, ${holding}`, 'id: 2, kind: action, channel: gone').replace(
      'port: 502',
      'port: 0',
    );
    expect(refusal(text)).toEqual([
      expect.stringMatching(/^site\.yaml:4: \/channels\/0\/port /),
      expect.stringMatching(/^site\.yaml:13: .*unknown channel gone/),
    ]);
  });
});

describe('[points §1] limits of one site', () => {
  const point = (id: number): string => `id: ${id}, kind: measurement, channel: derived`;
  const points = (count: number): string[] => Array.from({ length: count }, (_, index) => point(index));

  test('points', () => {
    expect(readSite(siteWith(...points(pointsMaximum)), 'site.yaml').points).toHaveLength(4096);
    expect(refusal(siteWith(...points(pointsMaximum + 1)))).toEqual([
      'site.yaml:8: /instances 4097 points; at most 4096 are allowed',
    ]);
  });

  test('channels and instances', () => {
    const text = (channels: number, instances: number): string =>
      [
        'schema: svc.site.v1',
        'site: { id: s, name: S, timezone: UTC }',
        'channels:',
        ...Array.from({ length: channels }, (_, index) => `  - { id: c${index}, driver: virtual }`),
        'instances:',
        ...Array.from({ length: instances }, (_, index) => `  - { id: ${index}, name: i, points: [] }`),
      ].join('\n');
    expect(readSite(text(channelsMaximum, instancesMaximum), 'site.yaml').channels).toHaveLength(1000);
    expect(refusal(text(channelsMaximum + 1, 1))).toEqual([expect.stringMatching(/^site\.yaml:4: \/channels /)]);
    expect(refusal(text(1, instancesMaximum + 1))).toEqual([expect.stringMatching(/^site\.yaml:6: \/instances /)]);
  });
});
