/** Recorded history of a site on several machines: one records, all read, an outage loses nothing (docs/guides/several-machines.md). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Historian, HistoryRow } from '../../src/historian/historian.ts';
import { historyLimits } from '../../src/historian/limits.ts';
import { openHistorian } from '../../src/historian/open-historian.ts';
import { storageLimits } from '../../src/storage/server-limits.ts';
import { exportedRows } from '../../src/testing/histories.ts';
import { runCommand, serviceEnvironment, waitFor } from './running-service.ts';
import { type Cluster, controls, startCluster } from './several-machines.ts';

const series = { instance: 1, point: 1 };
/** The device is read every 100 ms and recorded every 300 ms, several times per lease: rows of one machine are at least 200 ms apart. */
const closestMs = 150;

describe('two machines, one history', () => {
  let cluster: Cluster;
  let historian: Historian;
  beforeAll(async () => {
    cluster = await startCluster(['a', 'b']);
    for (const machine of cluster.machines) await machine.start();
    historian = openHistorian({ url: cluster.postgres.url, limits: storageLimits }, historyLimits);
  }, 120_000);
  afterAll(async () => {
    await historian.close();
    await cluster.close();
  });
  const rowsSince = (fromMs: number): Promise<HistoryRow[]> => exportedRows(historian, { series, fromMs });
  /** Rows after this moment are stored. */
  const recordedAfter = (ms: number) =>
    waitFor(async () => (await rowsSince(ms)).find(({ value }) => value !== null), 20_000);
  const standby = async () => {
    const leader = await cluster.leader(20_000);
    const other = cluster.machines.find((machine) => machine !== leader);
    if (other?.service === null || other === undefined) throw new Error('no machine stands by');
    return { leader, other };
  };

  test('the leader records, the other one does not; both export the same', async () => {
    const { leader, other } = await standby();
    await recordedAfter(Date.now());
    const rows = await rowsSince(0);
    // Two recorders would store two readings of one device in each interval.
    const gaps = rows.slice(1).map((row, index) => row.eventMs - (rows[index]?.eventMs ?? 0));
    expect(gaps.filter((gapMs) => gapMs < closestMs).length).toBeLessThanOrEqual(1);
    const toMs = rows.at(-1)?.eventMs ?? 0;
    const exported = [leader, other].map(({ folders }) => {
      const env = serviceEnvironment(folders, { SVC_DATABASE_URL: cluster.postgres.url });
      const done = runCommand(
        'setpoint',
        ['history', 'export', '--point', '1:1', '--to', new Date(toMs).toISOString()],
        env,
      );
      expect([done.status, done.stderr]).toEqual([0, '']);
      return done.stdout;
    });
    expect(exported[0]).toBe(exported[1]);
    expect(exported[0]?.trim().split('\n')).toHaveLength(rows.length + 1);
  });

  test('an import on any machine is in the history of all', async () => {
    const { other } = await standby();
    const file = join(other.folders.config, 'values.csv');
    writeFileSync(file, 'time,value\n2019-07-11T10:45:00Z,1\n2019-07-11T10:46:00Z,2\n');
    const env = serviceEnvironment(other.folders, { SVC_DATABASE_URL: cluster.postgres.url });
    const done = runCommand('setpoint', ['history', 'import', file, '--point', '1:1', '--json'], env);
    expect([done.status, done.stderr]).toEqual([0, '']);
    expect(JSON.parse(done.stdout)).toMatchObject({ rows: 2, duplicates: 0 });
    const rows = await exportedRows(historian, { series, toMs: Date.UTC(2020, 0, 1) });
    expect(rows.map(({ value }) => value)).toEqual([1, 2]);
  });

  test('the one that controls is killed: the other one records on', async () => {
    const { leader, other } = await standby();
    await recordedAfter(Date.now());
    leader.service?.process.kill('SIGKILL');
    await waitFor(() => controls(other) || undefined, 20_000);
    const first = await recordedAfter(Date.now());
    expect(first.value).toBe(50);
    await leader.start();
  }, 60_000);

  test('the database is unavailable: readings until the end of the lease are stored when it is back', async () => {
    await cluster.leader(20_000);
    await recordedAfter(Date.now());
    const goneMs = Date.now();
    await cluster.postgres.kill();
    await waitFor(() => cluster.machines.every((machine) => !controls(machine)) || undefined, 15_000);
    await cluster.postgres.start();
    const backMs = Date.now();
    await cluster.leader(30_000);
    await recordedAfter(backMs);
    // Rows are recorded for as long as the lease lasts.
    const meanwhile = await waitFor(async () => {
      const rows = (await rowsSince(goneMs)).filter(({ eventMs }) => eventMs < goneMs + storageLimits.engine_lease_ms);
      return rows.length > 0 ? rows : undefined;
    }, 20_000);
    for (const row of meanwhile) expect(row.ingestedMs).toBeGreaterThan(row.eventMs);
    const rows = await rowsSince(goneMs - 3000);
    expect(rows.filter((row, index) => row.eventMs === rows[index - 1]?.eventMs)).toEqual([]);
    for (const { service } of cluster.machines) expect(service?.logs()).not.toContain('history lost');
  }, 120_000);
});
