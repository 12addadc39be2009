/** `setpoint site check` finds what a start would refuse in any file of the configuration [points §1.2]. */
import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkSite } from './check-site.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'setpoint-check-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const site = `schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
  - { id: derived, driver: virtual }
instances:
  - { id: 1, name: tank, points: [{ id: 1, name: level, kind: measurement, unit: m, channel: derived }] }
`;
const faultsOf = async (files: Readonly<Record<string, string>>): Promise<readonly string[]> => {
  for (const [name, text] of Object.entries({ 'site.yaml': site, ...files })) writeFileSync(join(folder, name), text);
  return (await checkSite(folder, {})).faults;
};

test('a sound configuration has no fault', async () => {
  expect(await faultsOf({ 'service.yaml': 'alarms: { interval_ms: 1000 }' })).toEqual([]);
});

test('faults of both files are listed together', async () => {
  const broken = site.replace('kind: measurement', 'kind: measured');
  expect(await faultsOf({ 'site.yaml': broken, 'service.yaml': 'alarms: { interval: 1000 }' })).toEqual([
    'service.yaml:1: /alarms/interval is not a known field; did you mean interval_ms?',
    'site.yaml:6: /instances/0/points/0/kind must be one of "measurement", "action"',
  ]);
});

test('receivers of alarms that the site does not have, and witnesses with a wrong key', async () => {
  const witness = '{ url: "https://auditor.example/", vkey: "auditor.example+01234567+none" }';
  const service = `audit: { witnesses: [${witness}], witness_policy: { required: 2 } }
notify: { mqtt: { channel: broker, topic: alarms } }
`;
  expect(await faultsOf({ 'service.yaml': service })).toEqual([
    expect.stringMatching(/^service\.yaml: audit\.witnesses\[0\]\.vkey: is not the key of a witness/),
    'service.yaml: audit.witness_policy.required: must be at most 1, the number of witnesses',
    'service.yaml: notify.mqtt.channel: the site has no channel broker with the driver mqtt',
  ]);
});

test('an alarm about backups that nothing makes: `setpoint backup` does not save a site in PostgreSQL', async () => {
  const expected = { 'service.yaml': 'alarms: { backup_overdue_ms: 1 }' };
  expect(await faultsOf(expected)).toEqual([]);
  const onServer = async () => (await checkSite(folder, { SVC_DATABASE_URL: 'postgres://127.0.0.1/site' })).faults;
  expect(await onServer()).toEqual([
    expect.stringMatching(/^service\.yaml: alarms\.backup_overdue_ms watches .* PostgreSQL/),
  ]);
  writeFileSync(join(folder, 'service.yaml'), 'alarms: { backup_overdue_ms: 0 }');
  expect(await onServer()).toEqual([]);
});

test('[points §1.2] a certificate that ends soon, or has ended, is a warning', async () => {
  const fixture = join(import.meta.dirname, '..', 'devices', 'driver', 'fixture');
  for (const name of ['ended-cert.pem', 'ended-key.pem', 'broker-cert.pem'])
    copyFileSync(join(fixture, name), join(folder, name));
  const channel = '{ id: cloud, driver: mqtt, url: "mqtts://broker.example", ca_file: broker-cert.pem, ';
  const files = 'cert_file: ended-cert.pem, key_file: ended-key.pem }';
  const text = site.replace('{ id: derived, driver: virtual }', `&  - ${channel}${files}`);
  expect(await faultsOf({ 'site.yaml': text.replace('&', '{ id: derived, driver: virtual }\n') })).toEqual([]);
  expect((await checkSite(folder, {})).warnings).toEqual([
    'ended-cert.pem of channel cloud is valid until 2020-01-31T00:00:00.000Z',
  ]);
});

test('a site or service file with another spelling of its name is a fault, not a file that is missed', async () => {
  for (const name of ['service.yml', 'Service.yaml']) {
    expect(await faultsOf({ [name]: 'notify: { urls: ["https://alarms.example/"] }' })).toEqual([
      `${name}: rename it to service.yaml`,
    ]);
    rmSync(join(folder, name));
  }
  renameSync(join(folder, 'site.yaml'), join(folder, 'site.yml'));
  expect((await checkSite(folder, {})).faults).toEqual(['site.yml: rename it to site.yaml']);
  expect((await checkSite(join(folder, 'none'), {})).faults).toEqual([expect.stringMatching(/^no site\.yaml in /)]);
});
