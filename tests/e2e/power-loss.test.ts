/**
 * What is answered, or in the audit log, is on the disk and not only with the operating system, so that a loss of power cannot take
 * it back. What SQLite itself syncs is not seen here.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestFolders,
  testFolders,
  waitFor,
} from './running-service.ts';

const site = `schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
  - { id: derived, driver: virtual }
instances:
  - id: 1
    name: tank
    points:
      - { id: 1, name: level, kind: measurement, unit: m, channel: derived, record: true }
      - { id: 2, name: valve, kind: action, unit: "%", min: 0, max: 100, channel: derived }
`;
let folders: TestFolders;
let log: string;
let env: Readonly<Record<string, string>>;
beforeEach(() => {
  folders = testFolders(site);
  log = join(folders.config, 'syncs');
  const preload = pathToFileURL(join(import.meta.dirname, 'told-syncs.ts')).href;
  env = { SYNC_LOG: log, NODE_OPTIONS: `--import ${preload}` };
});
afterEach(() => folders.remove());

/** How often the file of the data dir was synced. */
const syncs = (name: string): number => {
  const path = join(folders.data, name);
  return existsSync(log)
    ? readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line === path).length
    : 0;
};

test('[points §7.1] an override, and its release, are on the disk when they are answered', async () => {
  const service = await startTestService(folders, env);
  try {
    const before = syncs('runtime.sqlite-wal');
    const asked = { value: 5, for_seconds: 60, reason: 'somebody works on it' };
    const held = await service.command('POST', '/points/1/action/2/override', asked);
    expect([held.status, syncs('runtime.sqlite-wal')]).toEqual([200, before + 1]);
    const id = String(held.body['data']?.['override_id']);
    expect((await service.command('DELETE', `/overrides/${id}`)).status).toBe(200);
    expect(syncs('runtime.sqlite-wal')).toBe(before + 2);
    const limit = { max: 50, for_seconds: 60, reason: 'somebody works on it' };
    expect((await service.command('POST', '/points/1/action/2/limit', limit)).status).toBe(200);
    expect(syncs('runtime.sqlite-wal')).toBe(before + 3);
  } finally {
    await service.stop();
  }
});

test('[points §7.1] an override, or a release, that the disk refused does not hold after the next start', async () => {
  const refused = join(folders.config, 'refused');
  const refusing = { ...env, SYNC_REFUSED: refused };
  let service = await startTestService(folders, refusing);
  const override = (value: number) =>
    service.command('POST', '/points/1/action/2/override', { value, for_seconds: 60, reason: 'somebody works on it' });
  const values = async () => {
    const { list } = (await service.read('/overrides')).body['data'] as unknown as {
      list: { value: number }[];
    };
    return list.map(({ value }) => value);
  };
  try {
    const id = String((await override(5)).body['data']?.['override_id']);
    writeFileSync(refused, join(folders.data, 'runtime.sqlite-wal'));
    expect((await override(7)).body['error']).toMatchObject({ code: 'storage-unavailable' });
    expect((await service.command('DELETE', `/overrides/${id}`)).body['error']).toMatchObject({
      code: 'storage-unavailable',
    });
    expect(await values()).toEqual([5]);
    rmSync(refused);
    await service.stop('SIGKILL');
    service = await startTestService(folders, refusing);
    expect(await values()).toEqual([5]);
  } finally {
    await service.stop();
  }
});

test('[points §6.2] an import, and a deletion, are on the disk when the audit log says that they succeeded', () => {
  mkdirSync(folders.data, { mode: 0o700 });
  const setpoint = (...args: string[]) => {
    const done = runCommand('setpoint', ['history', ...args, '--point', '1:1'], serviceEnvironment(folders, env));
    expect([done.stderr, done.status]).toEqual(['', 0]);
  };
  const file = join(folders.config, 'values.csv');
  writeFileSync(file, 'time,value\n2026-07-11T10:45:00Z,1\n');
  setpoint('import', file);
  expect(syncs('history.sqlite-wal')).toBe(1);
  setpoint('delete', '--from', '2026-07-11T10:45:00Z', '--to', '2026-07-11T10:46:00Z', '--confirmed');
  expect(syncs('history.sqlite-wal')).toBe(2);
});

test('[rules §7.5], [points §6.1] a journal is removed only after its rows are synced', async () => {
  folders.write(
    'service.yaml',
    'automation: { history_block_ms: 100 }\nhistory: { block_ms: 100, flush_interval_ms: 100 }\n',
  );
  const service = await startTestService(folders, env);
  try {
    const node = (id: string, type: string, config: object) => ({
      id,
      type,
      position: { x: 0, y: 0 },
      data: { config },
    });
    const feed = {
      writes: [{ instance: 1, point_type: 'measurement', point: 1, value: 7 }],
      wires: { default: ['end'] },
    };
    const flow_json = {
      nodes: [
        node('start', 'start', { wires: { default: ['feed'] } }),
        node('feed', 'action', feed),
        node('end', 'end', {}),
      ],
      edges: [],
    };
    await service.command('POST', '/rules', { name: 'feed' });
    const trigger_config = { type: 'interval', interval_ms: 100 };
    expect((await service.command('PUT', '/rules/1', { flow_json, trigger_config })).status).toBe(200);
    expect((await service.command('POST', '/rules/1/enable')).status).toBe(200);
    await waitFor(() => syncs('runtime.sqlite-wal') > 1 && syncs('history.sqlite-wal') > 1);
  } finally {
    await service.stop();
  }
});
