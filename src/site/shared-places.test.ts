import { expect, test } from 'vitest';
import { sharedPlaces } from './shared-places.ts';
import { readSite } from './site.ts';

const modbus = 'driver: modbus-tcp, port: 502, unit_id: 1, poll_interval_ms: 100, timeout_ms: 300, word_order: big';
const site = (points: readonly string[]) =>
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
${points.map((point, index) => `      - { id: ${index + 1}, name: p${index + 1}, kind: action, unit: "1", min: 0, max: 100, ${point} }\n`).join('')}`,
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
  expect(sharedPlaces(site([first, second]))).toEqual([
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
  expect(sharedPlaces(site([first, second]))).toEqual([]);
});
