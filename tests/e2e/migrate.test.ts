/** A site of one machine moves to PostgreSQL and continues there (docs/guides/several-machines.md). */
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openHistoryJournal } from '../../src/historian/waiting-journal.ts';
import { quality } from '../../src/site/quality.ts';
import type { PostgresPlace } from '../../src/storage/postgres.ts';
import { journalFolder } from '../../src/storage/row-journal.ts';
import { runOn } from '../../src/testing/engines.ts';
import { runCommand, serviceEnvironment, startTestService, testFolders, virtualSite } from './running-service.ts';
import { storageOn } from './storage-on.ts';

describe('setpoint migrate', () => {
  test('[audit §6] rules, ids and audit chain continue behind the last of the old place', async () => {
    const folders = testFolders(virtualSite);
    const { env: server, remove } = await storageOn('postgres', folders);
    const migrate = (...more: string[]) =>
      runCommand(
        'setpoint',
        ['migrate', '--from', 'sqlite', '--to', 'postgres', ...more],
        serviceEnvironment(folders, server),
      );
    const history = (place: Readonly<Record<string, string>>, ...args: string[]) =>
      runCommand('setpoint', ['history', ...args, '--point', '1:1'], serviceEnvironment(folders, place));
    const before = await startTestService(folders);
    const file = join(folders.config, 'values.csv');
    writeFileSync(file, 'time,value\n2026-07-11T10:45:00Z,1\n2026-07-11T10:46:00Z,2.5\n');
    expect(history({}, 'import', file).stderr).toBe('');
    for (const name of ['a', 'b']) expect((await before.command('POST', '/rules', { name })).status).toBe(200);
    expect((await before.command('DELETE', '/rules/2')).status).toBe(200);
    const running = migrate('--confirmed');
    expect([running.status, running.stderr]).toEqual([1, expect.stringContaining('stop it first')]);
    await before.stop();
    expect(migrate().status).toBe(2);
    // What a killed service had not yet stored is not left behind.
    const [runs, readings] = (['runs', 'history'] as const).map((of) => journalFolder(folders.data, of));
    mkdirSync(runs ?? '', { recursive: true });
    writeFileSync(join(runs ?? '', '1.rows'), '');
    const unstored = migrate('--confirmed');
    expect([unstored.status, unstored.stderr]).toEqual([
      1,
      expect.stringContaining('start its service and stop it once'),
    ]);
    rmSync(runs ?? '', { recursive: true });
    const eventMs = Date.parse('2026-07-11T10:47:00Z');
    const row = { series: { instance: 1, point: 1 }, eventMs, ingestedMs: eventMs, value: 7, quality: quality.good };
    openHistoryJournal(readings ?? '', join(folders.data, 'history.sqlite')).append([row], 1);
    const moved = migrate('--confirmed');
    expect([moved.status, moved.stderr]).toEqual([0, '']);
    expect(moved.stdout).toMatch(/^rules: 1 row$[^]*Audit verification passed/m);
    const again = migrate('--confirmed');
    expect([again.status, again.stderr]).toEqual([1, expect.stringMatching(/^[^\n]*holds a site already[^\n]*\n$/)]);

    // The old files control nothing by mistake, and no command changes them.
    const onFiles = runCommand('serve', [], serviceEnvironment(folders));
    expect([onFiles.status, onFiles.stderr]).toEqual([1, expect.stringContaining('is in a database')]);
    const refused = history({}, 'import', file);
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('is in a database')]);

    // Nor does any command read them as if they were the site.
    const stale = history({}, 'export');
    expect([stale.status, stale.stdout, stale.stderr]).toEqual([1, '', expect.stringContaining('is in a database')]);
    const rows = ['2026-07-11T10:45:00Z,1,good', '2026-07-11T10:46:00Z,2.5,good', '2026-07-11T10:47:00Z,7,good'];
    expect(history(server, 'export').stdout).toBe(`${['time,value,quality', ...rows].join('\n')}\n`);
    const after = await startTestService(folders, server);
    expect((await after.read('/rules/1')).body['data']).toMatchObject({ id: 1, name: 'a' });
    expect((await after.command('POST', '/rules', { name: 'c' })).body['data']).toMatchObject({ id: 3 });
    await after.stop();
    const verified = runCommand('setpoint', ['audit', 'verify', '--json'], serviceEnvironment(folders, server));
    const report = JSON.parse(verified.stdout);
    expect(report).toMatchObject({ good: true, chains: [{ first: 1, broken: null }] });
    // An import and three changes of two events each, the move, one more change: the sequence has no gap between them.
    expect(report.chains[0].events).toBe(report.chains[0].last);
    expect(report.chains[0].last).toBe(11);
    await remove();
    folders.remove();
  }, 120_000);

  test('[platform §1.5] without SVC_DATABASE_URL no command works on files beside a site that is in a database', async () => {
    const folders = testFolders(virtualSite);
    const { env: server, remove } = await storageOn('postgres', folders);
    const service = await startTestService(folders, server);
    const refused = [
      1,
      '',
      `setpoint: the site of the data dir ${folders.data} is in a database: set SVC_DATABASE_URL\n`,
    ];
    for (const args of [
      ['token', '--role', 'Engineer', '--subject', 'ann'],
      ['token', 'revoke', '--subject', 'ann', '--reason', 'left'],
      ['users', 'list'],
      ['sign-in-link'],
      ['audit', 'verify'],
      ['backup', `${folders.data}-copy`],
    ]) {
      const { status, stdout, stderr } = runCommand('setpoint', args, serviceEnvironment(folders));
      expect([status, stdout, stderr], args[0]).toEqual(refused);
    }
    expect(existsSync(join(folders.data, 'site.sqlite'))).toBe(false);
    await service.stop();
    await remove();
    folders.remove();
  }, 120_000);

  test('[platform §1.5] a service on a database does not leave rules in files behind, nor does a command', async () => {
    const folders = testFolders(virtualSite);
    const { env: server, remove } = await storageOn('postgres', folders);
    const service = await startTestService(folders);
    expect((await service.command('POST', '/rules', { name: 'a' })).status).toBe(200);
    const revoke = ['token', 'revoke', '--subject', 'ann', '--reason', 'left'];
    const elsewhere = runCommand('setpoint', revoke, serviceEnvironment(folders, server));
    expect([elsewhere.status, elsewhere.stderr]).toEqual([1, expect.stringContaining('is in its files: unset')]);
    await service.stop();
    const started = runCommand('serve', [], serviceEnvironment(folders, server));
    expect([started.status, started.stderr]).toEqual([1, expect.stringContaining('has 1 rule in its files: move')]);
    await remove();
    folders.remove();
  }, 120_000);

  test('[platform §1.5] neither a second process nor a command upgrades the tables beneath a running service', async () => {
    const folders = testFolders(virtualSite);
    const { env: server, site, remove } = await storageOn('postgres', folders);
    const service = await startTestService(folders, server);
    const version = () => runOn(site as PostgresPlace, `SELECT version FROM data_format WHERE name = 'site'`);
    await runOn(site as PostgresPlace, `UPDATE data_format SET version = version - 1 WHERE name = 'site'`);
    const before = await version();
    const another = testFolders(virtualSite);
    cpSync(join(folders.config, 'service.yaml'), join(another.config, 'service.yaml'));
    const started = runCommand('serve', [], serviceEnvironment(another, server));
    expect([started.status, started.stderr]).toEqual([
      1,
      expect.stringContaining('has an older format, and processes of the site are connected from 127.0.0.1'),
    ]);
    for (const args of [['users', 'list'], ['sign-in-link'], ['history', 'export', '--point', '1:1']]) {
      const { status, stdout, stderr } = runCommand('setpoint', args, serviceEnvironment(folders, server));
      expect([status, stdout, stderr], args[0]).toEqual([
        1,
        '',
        'setpoint: the database has an older format: start the service of this version once, then try again\n',
      ]);
    }
    expect(await version()).toEqual(before);
    await service.stop();
    await remove();
    folders.remove();
    another.remove();
  }, 120_000);
});
