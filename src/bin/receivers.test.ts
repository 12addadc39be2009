/** `setpoint site test-receivers` without a receiver, and with one whose secrets are missing [alarms §5]. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { testReceivers } from './receivers.ts';
import { StartError } from './start-error.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'setpoint-receivers-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const site = `schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
  - { id: bus, driver: mqtt, url: "mqtt://127.0.0.1:1", username_env: BUS_USER, password_env: BUS_PASSWORD }
instances: []
`;
function tested(service: string, env: Readonly<Record<string, string>> = {}) {
  writeFileSync(join(folder, 'site.yaml'), site);
  writeFileSync(join(folder, 'service.yaml'), service);
  return testReceivers({ configDir: folder, dataDir: folder, env });
}

test('none are named', async () => {
  expect(await tested('')).toEqual([]);
});

test('secrets are those of a start: a missing one is named, nothing is sent', async () => {
  const service = 'notify: { mqtt: { channel: bus, topic: alarms } }\nalarms: { notify_timeout_ms: 500 }';
  await expect(tested(service, { BUS_USER: 'u' })).rejects.toEqual(
    new StartError('channel bus: the environment has no variable BUS_PASSWORD'),
  );
  expect(await tested(service, { BUS_USER: 'u', BUS_PASSWORD: 'x' })).toEqual([
    { receiver: 'mqtt:bus:alarms', problem: 'connect ECONNREFUSED 127.0.0.1:1' },
  ]);
});
