/** A site of one machine moves to PostgreSQL and goes on there (docs/guides/several-machines.md). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makePostgres, type TestPostgres } from '../../src/testing/postgres-server.ts';
import { runCommand, serviceEnvironment, startTestService, testFolders, virtualSite } from './running-service.ts';

describe('setpoint migrate', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await makePostgres();
    await postgres.start();
  }, 60_000);
  afterAll(() => postgres.stop());

  test('§3 rules, ids and audit chain go on behind the last of the old place', async () => {
    const folders = testFolders(virtualSite);
    const server = { SVC_DATABASE_URL: postgres.url };
    const migrate = (...more: string[]) =>
      runCommand(
        'setpoint.ts',
        ['migrate', '--from', 'sqlite', '--to', 'postgres', ...more],
        serviceEnvironment(folders, server),
      );
    const before = await startTestService(folders);
    for (const name of ['a', 'b']) expect((await before.command('POST', '/rules', { name })).status).toBe(200);
    expect((await before.command('DELETE', '/rules/2')).status).toBe(200);
    const running = migrate('--confirmed');
    expect([running.status, running.stderr]).toEqual([1, expect.stringContaining('stop it first')]);
    await before.stop();
    expect(migrate().status).toBe(2);
    const moved = migrate('--confirmed');
    expect([moved.status, moved.stderr]).toEqual([0, '']);
    expect(moved.stdout).toMatch(/^rules: 1 rows$[^]*The audit trail holds/m);
    expect(migrate('--confirmed').stderr).toContain('holds a site already');

    const after = await startTestService(folders, server);
    expect((await after.read('/rules/1')).body['data']).toMatchObject({ id: 1, name: 'a' });
    expect((await after.command('POST', '/rules', { name: 'c' })).body['data']).toMatchObject({ id: 3 });
    await after.stop();
    const verified = runCommand('setpoint.ts', ['audit', 'verify', '--json'], serviceEnvironment(folders, server));
    const report = JSON.parse(verified.stdout);
    expect(report).toMatchObject({ good: true, chains: [{ first: 1, broken: null }] });
    // Three changes of two events each, the move, one more change: the sequence has no gap between them.
    expect(report.chains[0].events).toBe(report.chains[0].last);
    expect(report.chains[0].last).toBe(9);
    folders.remove();
  }, 120_000);
});
