/** `setpoint history` beside a running service and without one, and the demo's past [platform §1.2], [platform §7], [data-processing §5.1]. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openDatabase } from '../../src/databases/site-database.ts';
import { issueToken } from '../../src/gateway/identity.ts';
import { signingKey } from '../../src/gateway/local-keys.ts';
import { historyLimits } from '../../src/historian/limits.ts';
import { openHistorian } from '../../src/historian/open-historian.ts';
import { requestStoring } from '../../src/historian/waiting-journal.ts';
import { journalFolder } from '../../src/storage/row-journal.ts';
import { engines } from '../../src/testing/engines.ts';
import { exportedRows } from '../../src/testing/histories.ts';
import {
  programFile,
  root,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestFolders,
  testFolders,
  waitFor,
} from './running-service.ts';
import { type SiteStorage, storageOn } from './storage-on.ts';

const site = `schema: svc.site.v1
site: { id: history-test, name: History, timezone: UTC }
channels:
  - { id: derived, driver: virtual }
instances:
  - id: 2
    name: load
    points:
      - { id: 1, name: power, kind: measurement, unit: kW, channel: derived, record: true }
`;
const series = { instance: 2, point: 1 };

describe.each(engines)('[platform §7] setpoint history, on %s', (engine) => {
  let folders: TestFolders;
  let storage: SiteStorage;
  beforeEach(async () => {
    folders = testFolders(site);
    mkdirSync(folders.data);
    storage = await storageOn(engine, folders);
  });
  afterEach(async () => {
    await storage.remove();
    folders.remove();
  });

  const setpoint = (...args: string[]) =>
    runCommand('setpoint', ['history', ...args], serviceEnvironment(folders, storage.env));
  const importText = (text: string, ...args: string[]) => {
    writeFileSync(join(folders.config, 'values.csv'), text);
    return setpoint('import', join(folders.config, 'values.csv'), '--point', '2:1', ...args);
  };
  const audited = async (action = 'history.import') => {
    const database = openDatabase(storage.site);
    await database.ready();
    const events = await database.query
      .selectFrom('audit_event')
      .selectAll()
      .where('action', '=', action)
      .orderBy('sequence')
      .execute();
    await database.close();
    return events.map(({ outcome, resource_id: id, subject_id: subject }) => [outcome, id, subject]);
  };

  test('[points §6.2] import and export without a service, audited before and after', async () => {
    const text = 'time,value\n2026-07-11T10:45:00Z,1\n2026-07-11T10:45:00Z,2\n2026-07-11T10:46:00Z,\n';
    const done = importText(text, '--json');
    expect([done.status, done.stderr]).toEqual([0, '']);
    expect(JSON.parse(done.stdout)).toEqual({
      rows: 3,
      duplicates: 1,
      skipped: 0,
      first: '2026-07-11T10:45:00Z',
      last: '2026-07-11T10:46:00Z',
    });
    expect(setpoint('export', '--point', '2:1').stdout).toBe(
      'time,value,quality\n2026-07-11T10:45:00Z,1,good\n2026-07-11T10:45:00Z,2,good\n2026-07-11T10:46:00Z,,missing\n',
    );
    expect(await audited()).toEqual([
      ['accepted', 'history-series:2:1', 'setpoint-cli'],
      ['succeeded', 'history-series:2:1', 'setpoint-cli'],
    ]);
  });

  test('[points §6.2] --once, a file that names its points, and delete: confirmed, audited before and after', async () => {
    const text = 'time,2:1\n2026-07-11T10:45:00Z,1\n2026-07-11T10:46:00Z,2\n2026-07-11T10:47:00Z,3\n';
    const file = join(folders.config, 'values.csv');
    writeFileSync(file, text);
    expect(setpoint('import', file).status).toBe(0);
    expect(setpoint('import', file, '--once').stdout).toBe(
      'stored 0 rows, 2026-07-11T10:45:00Z to 2026-07-11T10:47:00Z\n3 were stored already and left out\n',
    );
    expect(setpoint('import', file, '--point', '2:1')).toMatchObject({ status: 2 });
    expect(importText('time,value\n', '--json').status).toBe(0);
    writeFileSync(file, 'time,value\n');
    expect(setpoint('import', file).stderr).toContain('give --point');
    const span = ['--from', '2026-07-11T10:45:00Z', '--to', '2026-07-11T10:47:00Z'];
    const asked = setpoint('delete', '--point', '2:1', ...span);
    expect(asked.status).toBe(2);
    expect(asked.stderr).toContain('Nothing was done; give --confirmed to do it');
    expect(await audited('historian.series.delete')).toEqual([]);
    expect(setpoint('delete', '--point', '2:1', ...span, '--confirmed', '--json').stdout).toBe(
      '{"rows":2,"from":"2026-07-11T10:45:00Z","to":"2026-07-11T10:47:00Z"}\n',
    );
    expect(setpoint('export', '--point', '2:1').stdout).toBe('time,value,quality\n2026-07-11T10:47:00Z,3,good\n');
    expect(await audited('historian.series.delete')).toEqual([
      ['accepted', 'automation-point:2:M:1', 'setpoint-cli'],
      ['succeeded', 'automation-point:2:M:1', 'setpoint-cli'],
    ]);
    expect(
      setpoint('delete', '--point', '2:1', '--from', span[3] ?? '', '--to', span[3] ?? '', '--confirmed').status,
    ).toBe(2);
  });

  test('[points §6.2] --as-known-at excludes later rows; --ingested-at-event-time appears original', () => {
    expect(importText('time,value\n2026-07-11T10:45:00Z,1\n', '--ingested-at-event-time').status).toBe(0);
    expect(importText('time,value\n2026-07-11T10:45:00Z,2\n').status).toBe(0);
    const known = setpoint('export', '--point', '2:1', '--as-known-at', '2026-07-11T10:45:00Z', '--json');
    expect(
      known.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([{ time: '2026-07-11T10:45:00Z', value: 1, quality: 'good', ingested_at: '2026-07-11T10:45:00Z' }]);
    expect(setpoint('export', '--point', '2:1', '--as-known-at', '2026-07-11T10:44:59Z').stdout).toBe(
      'time,value,quality\n',
    );
    expect(setpoint('export', '--point', '2:1').stdout).toContain(',1,good\n2026-07-11T10:45:00Z,2,good\n');
  });

  test('[points §6.2] one bad line and nothing is stored; wrong points and times are reported', async () => {
    const bad = importText('time,value\n2026-07-11T10:45:00Z,1\n2026-07-11T10:46:00Z,one\n');
    expect(bad.status).toBe(1);
    expect(bad.stderr).toContain('values.csv:3: the value must be a finite number');
    const none = setpoint('export', '--point', '2:1');
    expect([none.status, none.stdout]).toEqual([1, '']);
    expect(none.stderr).toContain(
      engine === 'sqlite' ? 'no history in the data dir' : 'the history store cannot be read now',
    );
    expect(await audited()).toEqual([]);
    expect(importText('time,value\n', '--point', '2:2').stderr).toContain('site.yaml has no measurement point 2:2');
    expect(setpoint('import', join(folders.config, 'none.csv'), '--point', '2:1').stderr).toContain(
      'none.csv: file not found\n',
    );
    expect(setpoint('export', '--point', '2').status).toBe(2);
    expect(setpoint('export', '--point', '2:1', '--from', 'yesterday').status).toBe(2);
    expect(setpoint('export').status).toBe(2);
  });

  test('[platform §7] an empty export is reported; an unknown point is refused', () => {
    expect(importText('time,value\n2026-07-11T10:45:00Z,1\n').status).toBe(0);
    expect(setpoint('export', '--point', '2:1', '--from', '2026-07-11T10:45:01Z')).toMatchObject({
      status: 0,
      stdout: 'time,value,quality\n',
      stderr: 'setpoint: nothing is recorded for 2:1 in what was asked for\n',
    });
    expect(setpoint('export', '--point', '99:1')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: 'setpoint: site.yaml has no measurement point 99:1\n',
    });
    folders.write('site.yaml', site.replace('- id: 2\n', '- id: 3\n'));
    expect(setpoint('export', '--point', '3:1')).toMatchObject({
      status: 0,
      stdout: 'time,value,quality\n',
      stderr: 'setpoint: nothing is recorded for 3:1\n',
    });
    // A point removed from the site keeps its history.
    expect(setpoint('export', '--point', '2:1')).toMatchObject({ status: 0, stderr: '' });
  });

  test('[points §6.2] beside a running service: both store, and a reader sees whole batches', async () => {
    const service = await startTestService(folders, storage.env);
    try {
      const count = 30_000;
      const startMs = Date.UTC(2026, 5, 1);
      const line = (index: number): string => `${new Date(startMs + index * 60_000).toISOString()},${index}\n`;
      const text = `time,value\n${Array.from({ length: count }, (_, index) => line(index)).join('')}`;
      const done = importText(text);
      expect([done.status, done.stderr]).toEqual([0, '']);
      const historian = openHistorian(storage.history, historyLimits);
      expect(await exportedRows(historian, { series })).toHaveLength(count);
      await historian.close();
      expect(service.logs()).not.toContain('"level":50');
    } finally {
      expect(await service.stop()).toBe(0);
    }
  });
});

test('[points §6.1] every reader sees readings that wait in the journal, and a kill loses none of them', async () => {
  const folders = testFolders(site);
  const times = (text: string): number[] =>
    [...text.matchAll(/^(2\d{3}-\S+Z),7,good$/gm)].map(([, at = '']) => Date.parse(at));
  const exported = (): number[] => {
    const { status, stderr, stdout } = runCommand(
      'setpoint',
      ['history', 'export', '--point', '2:1'],
      serviceEnvironment(folders),
    );
    expect([status, stderr]).toEqual([0, '']);
    return times(stdout);
  };
  const storedRows = async (): Promise<number> => {
    const historian = openHistorian(join(folders.data, 'history.sqlite'), historyLimits);
    const rows = await exportedRows(historian, { series });
    await historian.close();
    return rows.length;
  };
  const service = await startTestService(folders);
  try {
    const feed = {
      writes: [{ instance: 2, point_type: 'measurement', point: 1, value: 7 }],
      wires: { default: ['end'] },
    };
    const node = (id: string, type: string, config: object) => ({
      id,
      type,
      position: { x: 0, y: 0 },
      data: { config },
    });
    const flow_json = {
      nodes: [
        node('start', 'start', { wires: { default: ['feed'] } }),
        node('feed', 'action', feed),
        node('end', 'end', {}),
      ],
      edges: [],
    };
    await service.command('POST', '/rules', { name: 'feed' });
    const trigger_config = { type: 'interval', interval_ms: 200 };
    expect((await service.command('PUT', '/rules/1', { flow_json, trigger_config })).status).toBe(200);
    expect((await service.command('POST', '/rules/1/enable')).status).toBe(200);
    const journal = join(folders.data, 'journal-history');
    const hasJournal = (): boolean =>
      existsSync(journal) && readdirSync(journal).some((name) => name.endsWith('.rows'));
    await waitFor(hasJournal);
    expect(exported().length).toBeGreaterThan(0);

    const buckets = async (): Promise<number> => {
      const nowMs = Date.now();
      const [from, to] = [nowMs - 60_000, nowMs].map((ms) => new Date(ms).toISOString());
      const path = `/points/2/measurement/1/series?from=${from}&to=${to}&buckets=60`;
      const { body } = await service.read(path);
      return Number(body['data']?.['buckets']?.['length']);
    };
    const before = await storedRows();
    await waitFor(async () => (await buckets()) >= before + 2);
    expect(await storedRows()).toBeGreaterThan(before);

    const settled = await storedRows();
    await new Promise((resolve) => setTimeout(resolve, 4000));
    expect(await storedRows()).toBe(settled);
    const killedMs = Date.now();
    await service.stop('SIGKILL');
    const kept = exported();
    expect(kept.length).toBeGreaterThan(settled);
    // At most what arrived within one `flush_interval_ms` and one `record_interval_ms`, plus what the machine needs.
    expect(kept.at(-1)).toBeGreaterThan(killedMs - 3000);
    expect(hasJournal()).toBe(false);
  } finally {
    await service.stop('SIGKILL');
    folders.remove();
  }
});

const at = (wallMs: number): string => new Date(wallMs).toISOString();

test('[platform §1.2] npm start back-fills at least 35 days of the recorded points, in the background', async () => {
  const data = mkdtempSync(join(tmpdir(), 'setpoint-demo-past-'));
  const env = { ...process.env, SVC_DATA_DIR: data, SVC_HTTP_PORT: '0', SVC_LOG_LEVEL: 'info' };
  const begunMs = Date.now();
  const demo = spawn(process.execPath, [programFile('start')], { cwd: root, env });
  let output = '';
  demo.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()));
  demo.stderr.on('data', (bytes: Buffer) => (output += bytes.toString()));
  const ended = new Promise((resolve) => demo.on('exit', resolve));
  try {
    await waitFor(() => output.includes('demo history filled'), 40_000);
    const historian = openHistorian(join(data, 'history.sqlite'), historyLimits);
    const snapshot = await historian.snapshot();
    const quarterMs = 900_000;
    const asOfMs = Math.floor(begunMs / quarterMs) * quarterMs;
    const cells = async (instance: number, point: number): Promise<Float64Array> => {
      const answer = await snapshot.window({
        series: { instance, point },
        asOfMs,
        cadenceMs: quarterMs,
        steps: 35 * 96,
        aggregation: 'mean',
        duplicatePolicy: 'reject',
        maxSourceSkewMs: 5000,
      });
      return answer.cells;
    };
    const load = await cells(2, 1);
    expect(load.filter(Number.isNaN)).toHaveLength(0);
    expect(Math.max(...load)).toBeGreaterThan(Math.min(...load));
    const pv = await cells(3, 1);
    expect(pv.filter(Number.isNaN)).toHaveLength(0);
    // The sun sets every day.
    for (let day = 0; day < 35; day++) expect(Math.min(...pv.subarray(day * 96, day * 96 + 96))).toBeLessThan(1);
    expect((await cells(4, 1)).filter(Number.isNaN)).toHaveLength(0);
    await snapshot.close();
    // Past and present meet: no minute is missing between back-fill and recording.
    const rows = await waitFor(async () => {
      // A process beside the service asks for what waits in the journal, or it would miss up to `block_ms`.
      await requestStoring(journalFolder(data, 'history'), systemClock, 10_000);
      const recent = await exportedRows(historian, { series, fromMs: begunMs - 600_000 });
      // The past is filled on whole minutes; the first value read is recorded when it comes, the next one a minute later.
      return recent.some(({ eventMs }) => eventMs > begunMs && eventMs % 60_000 !== 0) ? recent : undefined;
    }, 20_000);
    const gaps = rows.slice(1).map((row, index) => row.eventMs - (rows[index]?.eventMs ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(90_000);
    await historian.close();
    // A backtest of the past has a value in each second: a row of a minute is valid until the next one.
    const claims = {
      subject: 'you',
      role: 'Engineer',
      issuedAtSeconds: Math.floor(begunMs / 1000),
      lifetimeSeconds: 600,
    } as const;
    const answer = await fetch(`${/http:\/\/\S+/.exec(output)?.[0]}/api/v1/automation/api/rules/1/backtest`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await issueToken(signingKey(data), claims)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ from: at(begunMs - 7_200_000), to: at(begunMs - 3_600_000), mode: 'recorded' }),
    });
    expect(await answer.json()).toMatchObject({ data: { evaluations: 3600, outcomes: { acted: 3600, skipped: 0 } } });
    // The forecast that a schedule would issue at the next quarter hour exists already.
    const forecasts = new DatabaseSync(join(data, 'forecasts.sqlite'), { readOnly: true });
    const kept = forecasts.prepare('SELECT task_id, status FROM kept_result');
    await expect
      .poll(() => kept.all().map(({ task_id: task, status }) => `${String(task)} ${String(status)}`), {
        timeout: 20_000,
      })
      .toEqual(expect.arrayContaining(['demo.load-day-ahead produced', 'demo.pv-day-ahead produced']));
    forecasts.close();
  } finally {
    demo.kill('SIGINT');
    await ended;
    rmSync(data, { recursive: true, force: true });
  }
});

test('export ends quietly when its reader has seen enough', () => {
  const folders = testFolders(site);
  mkdirSync(folders.data);
  const file = join(folders.config, 'values.csv');
  const times = Array.from({ length: 50_000 }, (_, index) => new Date(Date.UTC(2026, 0, 1) + index * 60_000));
  writeFileSync(file, `time,value\n${times.map((time) => `${time.toISOString()},1\n`).join('')}`);
  const env = serviceEnvironment(folders);
  expect(runCommand('setpoint', ['history', 'import', file, '--point', '2:1'], env).status).toBe(0);
  const command = `"${process.execPath}" "${programFile('setpoint')}" history export --point 2:1 | head -1`;
  const piped = spawnSync('sh', ['-c', command], { env, encoding: 'utf8' });
  expect([piped.stdout, piped.stderr]).toEqual(['time,value,quality\n', '']);
  folders.remove();
});
