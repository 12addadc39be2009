/** On a real PostgreSQL: an upgrade waits until the processes of the site have stopped (docs/guides/several-machines.md). */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { openMailbox } from '../cluster/mailbox.ts';
import { connectPostgres, lockKey, type PostgresPlace } from '../storage/postgres.ts';
import { runOn, testSchema } from '../testing/engines.ts';
import { siteSchema } from './schemas.ts';
import { processNameOf, refuseOtherIdentity, refuseUpgradeWhileUsed, serverFormats } from './server-formats.ts';
import { openDatabase } from './site-database.ts';

let place: PostgresPlace;
let closers: (() => unknown)[] = [];
beforeEach(async () => {
  place = await testSchema();
  closers = [() => runOn(place, `DROP SCHEMA IF EXISTS ${place.limits.postgres_schema} CASCADE`)];
});
afterEach(async () => {
  for (const close of closers.toReversed()) await close();
});

async function create(): Promise<void> {
  for (const open of [openDatabase, openRuntimeDatabase]) {
    const database = open(place);
    await database.ready();
    await database.close();
  }
}

const older = () => runOn(place, `UPDATE data_format SET version = version - 1 WHERE name = 'site'`);

/** A process of the site, as soon as it receives messages. */
async function join(processName = 'setpoint'): Promise<() => Promise<void>> {
  const mailbox = openMailbox(place, {
    name: 'a',
    processName,
    clock: systemClock,
    log: silentLog,
    clocks: { look: async () => undefined },
    standbys: { look: async () => undefined, lost: () => undefined },
  });
  const heard: string[] = [];
  mailbox.onNews((what) => void heard.push(what));
  closers.push(() => mailbox.close());
  const tell = () => mailbox.announce('rules').then(() => heard.length);
  await expect.poll(tell).toBeGreaterThan(0);
  return () => mailbox.close();
}

test('formats of the databases that are there; none on an empty server', async () => {
  expect(await serverFormats(place)).toEqual([]);
  await create();
  await older();
  const known = siteSchema.server.length;
  expect(await serverFormats(place)).toMatchObject([{ name: 'site', found: known - 1, known }, { name: 'runtime' }]);
});

test('[platform §1.5] an upgrade is refused while a process of the site is connected, and possible once it has stopped', async () => {
  await refuseUpgradeWhileUsed(place);
  await create();
  const leave = await join();
  await refuseUpgradeWhileUsed(place);
  await older();
  await expect(refuseUpgradeWhileUsed(place)).rejects.toThrow(
    'the database has an older format, and processes of the site are connected from 127.0.0.1: stop all of them',
  );
  const elsewhere = { ...place, limits: { ...place.limits, postgres_schema: `${place.limits.postgres_schema}_other` } };
  await refuseUpgradeWhileUsed(elsewhere);
  await leave();
  await expect.poll(() => refuseUpgradeWhileUsed(place).then(() => 'possible', String)).toBe('possible');
});

test('[platform §1.5] the leader of a version that holds nothing but its own lock is a process of the site too', async () => {
  await create();
  await older();
  const server = connectPostgres(place, 'engine');
  closers.push(() => server.close());
  const connection = await server.connect();
  await connection.run(`SELECT pg_try_advisory_lock(${lockKey(place.limits.postgres_schema, 'engine')})`);
  await expect(refuseUpgradeWhileUsed(place)).rejects.toThrow('processes of the site are connected');
  connection.release(true);
});

test('a process joins others of the same identity only: one of another would refuse their tokens and sign the audit with another key', async () => {
  await create();
  const [tokenKey, auditKey, other] = [1, 2, 3].map(() => generateKeyPairSync('ed25519').publicKey) as [
    KeyObject,
    KeyObject,
    KeyObject,
  ];
  const scope = { tenantId: 'tenant-1', projectId: 'project-1' };
  const shared: Parameters<typeof processNameOf>[0] = { scope, tokenKey, auditKey };
  const joining = (changed: Partial<typeof shared>) =>
    refuseOtherIdentity(place, processNameOf({ ...shared, ...changed }, true)).then(() => 'possible', String);
  expect(await joining({})).toBe('possible');
  const leave = await join(processNameOf(shared, false));
  expect(await joining({})).toBe('possible');
  // Its tokens come from a provider.
  expect(await joining({ tokenKey: null })).toBe('possible');
  const refusal = (names: string): unknown => expect.stringContaining(`127.0.0.1 has another ${names}: all`);
  expect(await joining({ tokenKey: other })).toEqual(refusal('signing-key.pem'));
  expect(await joining({ auditKey: other })).toEqual(refusal('audit-key.pem'));
  for (const changed of [{ tenantId: 'tenant-2' }, { projectId: 'project-2' }])
    expect(await joining({ scope: { ...scope, ...changed } })).toEqual(
      refusal('tenant and project (scope.json, or SVC_CLOUD_API_TENANT_ID and SVC_CLOUD_API_PROJECT_ID)'),
    );
  expect(await joining({ tokenKey: other, auditKey: other })).toEqual(refusal('signing-key.pem, audit-key.pem'));
  await leave();
  await expect.poll(() => joining({ auditKey: other })).toBe('possible');
  // An earlier version has no name of its own.
  await join();
  expect(await joining({ auditKey: other })).toBe('possible');
});

test('a server that cannot be reached is one line', async () => {
  const gone = { ...place, url: 'postgres://test@127.0.0.1:9/postgres' };
  await expect(refuseUpgradeWhileUsed(gone)).rejects.toThrow(/^the site database cannot be opened: [^\n]*ECONNREFUSED/);
});
