/** What an MQTT channel and its points are refused for [points §3.2]. */
import { expect, test } from 'vitest';
import { YamlError } from '../../base/yaml.ts';
import { readSite } from '../site.ts';

function faultsOf(channel: string, point: string): string {
  try {
    readSite(
      `schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels: [{ id: broker, driver: mqtt, ${channel} }]
instances: [{ id: 1, name: a, points: [{ id: 1, name: p, unit: kW, channel: broker, ${point} }] }]
`,
      'site.yaml',
    );
  } catch (error) {
    if (error instanceof YamlError) return error.message;
    throw error;
  }
  return '';
}

const plain = 'url: "mqtt://127.0.0.1:1883"';
const secure = 'url: "mqtts://127.0.0.1:8883"';
const measured = 'kind: measurement, address: { topic: a }';

test.each<[string, string, string]>([
  ['a port that is none', 'url: "mqtt://127.0.0.1:65536"', '/channels/0/url is not a valid address'],
  ['an authority without TLS', `${plain}, ca_file: ca.pem`, 'ca_file needs a mqtts:// url'],
  ['a password without a user', `${plain}, password_env: SECRET`, 'password_env needs a username_env'],
  ['a certificate without its key', `${secure}, cert_file: c.pem`, 'cert_file needs a key_file'],
  ['a key without its certificate', `${secure}, key_file: k.pem`, 'key_file needs a cert_file'],
  [
    'two wills',
    `${plain}, will: { topic: a, payload: gone }, status: { topic: b }`,
    'use either will or status: status includes a will',
  ],
])('a channel with %s', (_, channel, reason) => {
  expect(faultsOf(plain, measured)).toBe('');
  expect(faultsOf(channel, measured)).toContain(reason);
});

test.each<[string, string, string]>([
  [
    'a path into a number',
    'kind: measurement, address: { topic: a, payload: number, path: $.a }',
    'needs payload json',
  ],
  ['a path into a text', 'kind: measurement, address: { topic: a, payload: text, path: $.a }', 'not text'],
  ['a command in words without words', 'kind: action, address: { topic: a, payload: text }', 'needs a map'],
  ['a retained command', 'kind: action, address: { topic: a, retained: accept }', 'commands are never retained'],
  [
    'two words for one number',
    'kind: action, address: { topic: a, payload: text, map: { on: 1, ein: 1 } }',
    'an action point needs a different number for each payload',
  ],
])('a point with %s', (_, point, reason) => {
  expect(faultsOf(plain, point)).toContain(reason);
});

test('a measurement may have several words for one number', () => {
  const point = 'kind: measurement, address: { topic: a, payload: text, map: { on: 1, ein: 1 } }';
  expect(faultsOf(plain, point)).toBe('');
});
