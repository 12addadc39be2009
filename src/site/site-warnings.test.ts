import { expect, test } from 'vitest';
import { readSite } from './site.ts';
import { changeWarnings, holidayWarnings, siteWarnings } from './site-warnings.ts';

const modbus = 'driver: modbus-tcp, port: 502, unit_id: 1, poll_interval_ms: 100, timeout_ms: 300, word_order: big';
const site = (points: readonly string[], { min = 0, max = 100, kind = 'action' } = {}) =>
  readSite(
    `schema: svc.site.v1
site: { id: a, name: A, timezone: UTC }
channels:
  - { id: one, host: 10.0.0.1, ${modbus} }
  - { id: same, host: 10.0.0.1, ${modbus} }
  - { id: other, host: 10.0.0.2, ${modbus} }
  - { id: sun, driver: sunspec, host: 10.0.0.1 }
  - { id: mq, driver: mqtt, url: "mqtt://10.0.0.3:1883" }
  - { id: derived, driver: virtual }
instances:
  - id: 1
    name: pump
    points:
${points.map((point, index) => `      - { id: ${index + 1}, name: p${index + 1}, kind: ${kind}, unit: "1", min: ${min}, max: ${max}, ${point} }\n`).join('')}`,
    'site.yaml',
  );
const register = (channel: string, at: number, type: string, more = ''): string =>
  `channel: ${channel}, address: { table: holding, register: ${at}, type: ${type}${more} }`;

test.each([
  ['the same register', register('one', 7, 'uint16'), register('one', 7, 'uint16')],
  ['a register within a longer value', register('one', 7, 'float32'), register('one', 8, 'uint16')],
  ['another channel to the same device', register('one', 7, 'uint16'), register('same', 7, 'uint16')],
  ['a SunSpec point', 'channel: sun, address: { point: WMaxLimPct }', 'channel: sun, address: { point: WMaxLimPct }'],
  ['a topic', 'channel: mq, address: { topic: a/set }', 'channel: mq, address: { topic: a/set }'],
])('[points §1.2] two action points that write %s', (_, first, second) => {
  expect(siteWarnings(site([first, second]))).toEqual([
    '1:action:1 (pump p1) and 1:action:2 (pump p2) write the same place of a device: keep one of them',
  ]);
});

test.each([
  ['the next register', register('one', 7, 'uint16'), register('one', 8, 'uint16')],
  ['another table', register('one', 7, 'uint16'), 'channel: one, address: { table: coil, register: 7, type: bool }'],
  ['another unit behind the same address', register('one', 7, 'uint16'), register('one', 7, 'uint16', ', unit_id: 2')],
  ['another device', register('one', 7, 'uint16'), register('other', 7, 'uint16')],
  [
    'other members of the same message',
    'channel: mq, address: { topic: a/set, path: $.p }',
    'channel: mq, address: { topic: a/set, path: $.q }',
  ],
  ['virtual points', 'channel: derived', 'channel: derived'],
])('[points §1.2] %s is a place of its own', (_, first, second) => {
  expect(siteWarnings(site([first, second]))).toEqual([]);
});

test.each([
  [
    'the same kind',
    'action',
    'level',
    ['1:action:1 (tank level) and 1:action:2 (tank level) have the same name: rename one of them'],
  ],
  ['another kind', 'measurement', 'level', []],
  ['another name', 'action', 'depth', []],
])('[points §1.2] a name again, for %s', (_, kind, name, warnings) => {
  const text = `schema: svc.site.v1
site: { id: a, name: A, timezone: UTC }
channels: [{ id: derived, driver: virtual }]
instances:
  - id: 1
    name: tank
    points:
      - { id: 1, name: level, kind: action, unit: "1", min: 0, max: 100, channel: derived }
      - { id: 2, name: ${name}, kind: ${kind}, unit: "1", min: 0, max: 100, channel: derived }
  - id: 2
    name: tank
    points:
      - { id: 1, name: level, kind: action, unit: "1", min: 0, max: 100, channel: derived }
`;
  expect(siteWarnings(readSite(text, 'site.yaml'))).toEqual(warnings);
});

test.each([
  [
    'above 100',
    'is never raised: a value of 1:measurement:1 (tank level) outside 0..100 is bad; change the threshold or the range',
  ],
  ['above 99.9', null],
  [
    'below 0',
    'is never raised: a value of 1:measurement:1 (tank level) outside 0..100 is bad; change the threshold or the range',
  ],
  ['below 0.1', null],
  [
    'equals 101',
    'is never raised: a value of 1:measurement:1 (tank level) outside 0..100 is bad; change the threshold or the range',
  ],
  ['equals 100', null],
  ['above 90, deadband 90', null],
  [
    'above 90, deadband 91',
    'never clears with a deadband of 91: a value of 1:measurement:1 (tank level) outside 0..100 is bad; reduce the deadband',
  ],
  ['below 10, deadband 90', null],
  [
    'below 10, deadband 91',
    'never clears with a deadband of 91: a value of 1:measurement:1 (tank level) outside 0..100 is bad; reduce the deadband',
  ],
  ['equals 0, deadband 99', null],
  [
    'equals 0, deadband 100',
    'never clears with a deadband of 100: a value of 1:measurement:1 (tank level) outside 0..100 is bad; reduce the deadband',
  ],
])('[alarms §2.1] an alarm %s of a point from 0 to 100: %s', (threshold, warning) => {
  const text = threshold.replaceAll(/(\w+) ([\d.]+)/g, '$1: $2');
  expect(siteWarnings(withAlarm('1', text))).toEqual(warning === null ? [] : [`alarm a ${warning}`]);
});

test.each([
  ['for longer than a poll interval', 'max_age_ms: 101', null],
  ['for one poll interval', 'max_age_ms: 100', 'is read every 100 ms, and its values are usable for 100 ms'],
  [
    'for less than its own poll interval',
    'poll_interval_ms: 5000, max_age_ms: 1000',
    'is read every 5000 ms, and its values are usable for 1000 ms',
  ],
  ['by default', 'poll_interval_ms: 5000', null],
])('[points §1.2] values that are usable %s', (_, more, warned) => {
  expect(siteWarnings(site([`${register('one', 7, 'uint16')}, ${more}`], { kind: 'measurement' }))).toEqual(
    warned === null ? [] : [`1:measurement:1 (pump p1) ${warned}: raise max_age_ms, or poll more often`],
  );
});

test('[points §1.2] values that are not polled, and those of action points, may be usable for any time', () => {
  const pushed = 'channel: mq, address: { topic: a }, max_age_ms: 10';
  expect(siteWarnings(site([pushed], { kind: 'measurement' }))).toEqual([]);
  expect(siteWarnings(site([`${register('one', 7, 'uint16')}, max_age_ms: 10`]))).toEqual([]);
});

test.each([
  [0, 5, 10, true],
  [1, 5, 10, false],
  [-5, -1, 10, false],
  [0.3, 0.3, 0.1, true],
  [0.31, 0.39, 0.1, false],
  [5, 10, 10, true],
])('[points §1.2] whether a multiple of the step lies in %d..%d, step %d', (min, max, step, isThere) => {
  expect(siteWarnings(site([`${register('one', 7, 'float32')}, step: ${step}`], { min, max }))).toEqual(
    isThere
      ? []
      : [
          `1:action:1 (pump p1) cannot be written: no multiple of its step ${step} lies in its range ${min}..${max}; correct step or range`,
        ],
  );
});

test('[alarms §2.1] an alarm of a point without a range, with one bound, of an action point, and of text', () => {
  expect(siteWarnings(withAlarm('2', 'above: 1e9, deadband: 1e12'))).toEqual([]);
  expect(siteWarnings(withAlarm('3', 'above: 5'))).toEqual([
    'alarm a is never raised: a value of 1:measurement:3 (tank inflow) outside ..5 is bad; change the threshold or the range',
  ]);
  expect(siteWarnings(withAlarm('1, point_type: action', 'above: 100'))).toEqual([]);
  expect(siteWarnings(withAlarm('4', 'equals: 1'))).toEqual([
    'alarm a is never raised: 1:measurement:4 (tank mode) holds text; choose a point that holds a number',
  ]);
});

test.each([
  ['within its range', 'max: 100, min: 0', []],
  [
    'whose bounds cross',
    'min: 50, max: 10',
    ['limits[0]: min 50 is above max 10: every write becomes 10; correct the limit'],
  ],
  [
    'whose bounds cross above its range',
    'min: 102, max: 101',
    ['limits[0]: min 102 is above max 101: every write becomes 100; correct the limit'],
  ],
  [
    'above its range',
    'max: 101',
    ['limits[0]: max 101 lies outside the range 0..100 of 1:action:1 (tank valve): it never limits; correct the limit'],
  ],
  [
    'below its range',
    'max: -1',
    [
      'limits[0]: max -1 lies outside the range 0..100 of 1:action:1 (tank valve): every write becomes 0; correct the limit',
    ],
  ],
  [
    'with a min above its range',
    'min: 101',
    [
      'limits[0]: min 101 lies outside the range 0..100 of 1:action:1 (tank valve): every write becomes 100; correct the limit',
    ],
  ],
  [
    'with a min below its range',
    'min: -1',
    ['limits[0]: min -1 lies outside the range 0..100 of 1:action:1 (tank valve): it never limits; correct the limit'],
  ],
  [
    'that follows a reading of its unit',
    'max_from: { instance: 1, point: 1 }, failsafe: { value: 100, after_ms: 0 }',
    [],
  ],
  [
    'that follows a reading of another unit, with a failsafe outside its range',
    'max_from: { instance: 1, point: 2 }, failsafe: { value: 101, after_ms: 0 }',
    [
      'limits[0]: failsafe 101 lies outside the range 0..100 of 1:action:1 (tank valve): 100 applies instead; correct the limit',
      'limits[0]: 1:measurement:2 (tank flow) in m3/h bounds 1:action:1 (tank valve) in %, number by number: give both the same unit',
    ],
  ],
  [
    'that follows text, with a failsafe below its range',
    'min_from: { instance: 1, point: 4 }, failsafe: { value: -1, after_ms: 0 }',
    [
      'limits[0]: failsafe -1 lies outside the range 0..100 of 1:action:1 (tank valve): 0 applies instead; correct the limit',
      'limits[0]: only the failsafe applies: 1:measurement:4 (tank mode) holds text; choose a point that holds a number',
    ],
  ],
])('[points §7.2] a limit %s', (_, limit, warnings) => {
  expect(siteWarnings(tank(`limits: [{ target: { instance: 1, point: 1 }, ${limit} }]`))).toEqual(warnings);
});

test('[points §7.2] a limit of a point without a range is as it reads', () => {
  expect(siteWarnings(tank('limits: [{ target: { instance: 1, point: 2 }, min: -1e9, max: 1e9 }]'))).toEqual([]);
});

function withAlarm(point: string, threshold: string) {
  return tank(`alarms: [{ id: a, name: A, point: { instance: 1, point: ${point} }, ${threshold}, priority: low }]`);
}

function tank(section: string) {
  return readSite(
    `schema: svc.site.v1
site: { id: a, name: A, timezone: UTC }
channels: [{ id: mq, driver: mqtt, url: "mqtt://10.0.0.3:1883" }]
instances:
  - id: 1
    name: tank
    points:
      - { id: 1, name: level, kind: measurement, unit: "%", min: 0, max: 100, channel: mq, address: { topic: a/level } }
      - { id: 2, name: flow, kind: measurement, unit: m3/h, channel: mq, address: { topic: a/flow } }
      - { id: 3, name: inflow, kind: measurement, unit: m3/h, max: 5, channel: mq, address: { topic: a/inflow } }
      - { id: 4, name: mode, kind: measurement, unit: "1", channel: mq, address: { topic: a/mode, payload: text } }
      - { id: 1, name: valve, kind: action, unit: "%", min: 0, max: 100, channel: mq, address: { topic: a/valve/set } }
      - { id: 2, name: pump, kind: action, unit: "%", channel: mq, address: { topic: a/pump/set } }
${section}
`,
    'site.yaml',
  );
}

const measured = (more: string) => `channel: one, address: { table: holding, register: 7, type: uint16 }, ${more}`;

test('[points §1.3] points whose numbers mean something else are one warning; other changes of a point are none', () => {
  const running = site([measured('scale: 1'), measured('sign_convention: import'), measured(''), measured('')]);
  const next = site([
    measured('scale: 0.1, offset: 5'),
    measured(''),
    measured('step: 1, max_age_ms: 5000'),
    measured(''),
    register('other', 7, 'uint16'),
  ]);
  const [warning, ...others] = changeWarnings(running, next).filter((text) => !text.includes('the same place'));
  expect(others).toEqual([]);
  expect(warning).toContain(
    'the meaning of values changes: 1:action:1 (pump p1): scale 0.1 instead of 1, offset 5 instead of 0; ' +
      '1:action:2 (pump p2): sign_convention none instead of import. ',
  );
  expect(changeWarnings(next, next)).toEqual([]);
});

test('[points §1.3] of the warnings of a changed site, those that the running one has too are not repeated', () => {
  const [one, two] = [register('one', 7, 'uint16'), register('other', 9, 'uint16')];
  expect(changeWarnings(site([one, one]), site([one, one, two]))).toEqual([]);
  expect(changeWarnings(site([one, one, two]), site([one, one, two, two]))).toEqual([
    '1:action:3 (pump p3) and 1:action:4 (pump p4) write the same place of a device: keep one of them',
  ]);
});

test.each([
  ['not listed', [], null],
  ['two months ahead', ['2026-01-01', '2027-01-01'], null],
  ['within two months', ['2026-12-31', '2026-12-25'], '2026-12-31'],
  ['in the past', ['2025-12-26'], '2025-12-26'],
])('[data-processing §4.9] holidays %s', (_, holidays, last) => {
  const warned = holidayWarnings({ holidays }, Date.parse('2026-11-01T12:00:00Z'));
  expect(warned).toEqual(
    last === null
      ? []
      : [
          `the last of the holidays is ${last}: to forecasts, all later days are ordinary days; add those of the next year`,
        ],
  );
});
