/** PostgreSQL under the query layer behaves as the embedded engine does: locks, numbers, trouble, formats [platform §3]. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { decoder } from '../base/decode.ts';
import { schemas } from '../databases/schemas.ts';
import { openDatabase } from '../databases/site-database.ts';
import { runOn, testSchema } from '../testing/engines.ts';
import { makePostgres } from '../testing/postgres-server.ts';
import type { Database } from './database.ts';
import { migratePostgres, type PostgresPlace } from './postgres.ts';
import { storageLimits, storageLimitsSchema } from './server-limits.ts';

let place: PostgresPlace;
const opened: Database[] = [];
beforeEach(async () => {
  place = await testSchema();
});
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
  await runOn(place, `DROP SCHEMA IF EXISTS ${place.limits.postgres_schema} CASCADE`);
});
async function open(limits: Partial<typeof storageLimits> = {}): Promise<Database> {
  const database = openDatabase({ ...place, limits: { ...place.limits, ...limits } });
  opened.push(database);
  await database.ready();
  return database;
}
const pidOf = async (database: Pick<Database, 'query'>): Promise<number> =>
  (await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(database.query)).rows[0]?.pid ?? 0;

test('a schema has at most 58 characters, so that names made of it fit the server', () => {
  const decode = decoder(storageLimitsSchema);
  const named = (length: number) => decode({ ...storageLimits, postgres_schema: 's'.repeat(length) });
  expect(named(58).ok).toBe(true);
  expect(named(59)).toMatchObject({ ok: false, issues: [{ path: '/postgres_schema' }] });
});

test('[alarms §2.2] the validity of a server certificate is known after the first connection, and null without TLS', async () => {
  expect((await open()).certificate()).toBeNull();
  const fixture = (name: string): string => join(import.meta.dirname, '..', 'devices', 'driver', 'fixture', name);
  const [cert, key] = ['broker-cert.pem', 'broker-key.pem'].map((name) => readFileSync(fixture(name), 'utf8'));
  if (cert === undefined || key === undefined) throw new Error('no certificate');
  const server = await makePostgres('careless', { cert, key });
  onTestFinished(server.stop);
  await server.start();
  const url = `${server.url}?sslmode=verify-full&sslrootcert=${fixture('broker-cert.pem')}`;
  const database = openDatabase({ url, limits: storageLimits });
  onTestFinished(database.close);
  expect(database.certificate()).toBeNull();
  await database.ready();
  await database.commitNothing();
  const { validFromDate, validToDate } = new X509Certificate(cert);
  expect(database.certificate()).toEqual({ beginMs: validFromDate.getTime(), endMs: validToDate.getTime() });
});

describe('the format', () => {
  test('is applied once, whoever starts first, and two starts at once wait for each other', async () => {
    await Promise.all([open(), open(), open()]);
    const runtime = openRuntimeDatabase(place);
    await runtime.ready();
    await runtime.close();
    expect(await runOn(place, 'SELECT * FROM data_format ORDER BY name')).toEqual([
      { name: 'runtime', version: schemas.runtime.server.length },
      { name: 'site', version: schemas.site.server.length },
    ]);
  });

  test('a newer one is refused with one clear line, and nothing is changed', async () => {
    await open();
    await runOn(place, `UPDATE data_format SET version = 99 WHERE name = 'site'`);
    const database = openDatabase(place);
    await expect(database.ready()).rejects.toThrow(
      /^the site database has data format 99; this program supports \d+: use the newer program, or restore a backup$/,
    );
    await database.close();
    expect(await runOn(place, 'SELECT version FROM data_format')).toEqual([{ version: 99 }]);
  });

  test('a step may take longer than any other statement', async () => {
    const hasty = { ...place, limits: { ...place.limits, statement_timeout_ms: 100 } };
    await migratePostgres(hasty, 'site', ['SELECT pg_sleep(0.3)']);
    expect(await runOn(place, 'SELECT version FROM data_format')).toEqual([{ version: 1 }]);
  });

  test('an unreachable server, or a database with another encoding, is reported in one line without its password', async () => {
    const nowhere = openDatabase({ ...place, url: 'postgres://user:secret-word@127.0.0.1:1/x' });
    const refused = nowhere.ready();
    await expect(refused).rejects.toThrow(/^the site database cannot be opened: .*ECONNREFUSED/);
    await expect(refused).rejects.not.toThrow(/secret-word/);
    await nowhere.close();
    const name = place.limits.postgres_schema;
    await runOn(place, `CREATE DATABASE ${name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0`);
    const bytes = openDatabase({ ...place, url: place.url.replace(/[^/]*$/, name) });
    await expect(bytes.ready()).rejects.toThrow(/^the site database: its encoding must be UTF8$/);
    await bytes.close();
    await runOn(place, `DROP DATABASE ${name}`);
  });
});

describe('transactions', () => {
  test('take the write lock at once: the second one waits and reads the writes of the first', async () => {
    const [a, b] = [await open(), await open()];
    await sql`CREATE TABLE t (n integer)`.execute(a.query);
    const seen: number[] = [];
    const add = (database: Database) =>
      database.transaction(async (transaction) => {
        const { rows } = await sql<{ n: number }>`SELECT count(*) AS n FROM t`.execute(transaction);
        seen.push(rows[0]?.n ?? -1);
        await sql`INSERT INTO t VALUES (1)`.execute(transaction);
      });
    await Promise.all(Array.from({ length: 30 }, (_, index) => add(index % 2 === 0 ? a : b)));
    expect(seen).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  test('one that fails stores nothing; a lock that is not available in time is a retryable refusal without SQL', async () => {
    const [holder, waiting] = [await open(), await open({ lock_timeout_ms: 30 })];
    await sql`CREATE TABLE t (n integer)`.execute(holder.query);
    const failed = holder.transaction(async (transaction) => {
      await sql`INSERT INTO t VALUES (1)`.execute(transaction);
      const refused = waiting.transaction(async () => undefined);
      await expect(refused).rejects.toMatchObject({ code: 'storage-unavailable', retryable: true });
      await expect(refused).rejects.not.toThrow(/lock|sql|begin|timeout/i);
      throw new Error('given up');
    });
    await expect(failed).rejects.toThrow('given up');
    expect((await sql`SELECT * FROM t`.execute(waiting.query)).rows).toEqual([]);
    expect(await waiting.transaction(async () => 'done')).toBe('done');
  });

  test('a process that is stopped during a transaction loses the lock and its writes', async () => {
    const [stopped, other] = [await open({ idle_transaction_timeout_ms: 100 }), await open()];
    await sql`CREATE TABLE t (n integer)`.execute(other.query);
    let goOn: (value: unknown) => void = () => undefined;
    const paused = new Promise((resolve) => (goOn = resolve));
    let begun: (value: unknown) => void = () => undefined;
    const inside = new Promise((resolve) => (begun = resolve));
    const lost = stopped.transaction(async (transaction) => {
      await sql`INSERT INTO t VALUES (1)`.execute(transaction);
      begun(null);
      await paused;
      await sql`INSERT INTO t VALUES (2)`.execute(transaction);
    });
    await inside;
    expect(
      await other.transaction(async (transaction) => (await sql`SELECT * FROM t`.execute(transaction)).rows),
    ).toEqual([]);
    goOn(null);
    await expect(lost).rejects.toMatchObject({ code: 'storage-unavailable' });
    expect((await sql`SELECT * FROM t`.execute(other.query)).rows).toEqual([]);
  });
});

describe('connections', () => {
  test('one that is cut is a refusal that may pass; the next request has a new one', async () => {
    const database = await open({ connections_max: 1 });
    await sql`CREATE TABLE t (n integer)`.execute(database.query);
    const pid = await pidOf(database);
    const cut = database.transaction(async (transaction) => {
      await sql`INSERT INTO t VALUES (1)`.execute(transaction);
      await runOn(place, `SELECT pg_terminate_backend(${pid})`);
      await sql`INSERT INTO t VALUES (2)`.execute(transaction);
    });
    await expect(cut).rejects.toMatchObject({ code: 'storage-unavailable' });
    expect((await sql`SELECT * FROM t`.execute(database.query)).rows).toEqual([]);
    const next = await pidOf(database);
    expect(next).not.toBe(pid);
    // An idle one as well: nothing ends the process.
    await runOn(place, `SELECT pg_terminate_backend(${next})`);
    await expect.poll(() => pidOf(database).catch(() => next)).not.toBe(next);
  });

  test('there are never more than the limit, and a free one is waited for only so long', async () => {
    expect(storageLimits.connections_max).toBe(10);
    const database = await open({ connections_max: 2, connect_timeout_ms: 1500 });
    const pids = await Promise.all(Array.from({ length: 20 }, () => pidOf(database)));
    expect(new Set(pids).size).toBeLessThanOrEqual(2);
    const slow = () => sql`SELECT pg_sleep(3)`.execute(database.query);
    const answers = await Promise.allSettled([slow(), slow(), slow()]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(answers[2]).toMatchObject({ reason: { code: 'storage-unavailable' } });
  });

  test('a statement is cancelled at its deadline', async () => {
    const database = await open({ statement_timeout_ms: 100 });
    await expect(sql`SELECT pg_sleep(5)`.execute(database.query)).rejects.toMatchObject({
      code: 'storage-unavailable',
    });
    expect(await pidOf(database)).toBeGreaterThan(0);
  });
});

describe('values', () => {
  test('integers and texts are read back unchanged', async () => {
    const database = await open();
    await sql`CREATE TABLE t (n bigint, s text)`.execute(database.query);
    await fc.assert(
      fc.asyncProperty(
        fc.maxSafeInteger(),
        // Every code point but lone surrogates, which UTF-8 does not have, and NUL, which is refused.
        fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '')),
        async (n, s) => {
          await sql`DELETE FROM t`.execute(database.query);
          await sql`INSERT INTO t VALUES (${n}, ${s})`.execute(database.query);
          expect((await sql`SELECT * FROM t`.execute(database.query)).rows).toEqual([{ n, s }]);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('a character that this engine cannot store is an error of the caller, not a failure', async () => {
    const database = await open();
    const { name: rule, ...rest } = { name: 'a\0b', description: null, enabled: 0, priority: 0, cooldown_ms: 0 };
    const columns = {
      trigger_config: null,
      flow_json: null,
      nodes_json: '{}',
      revision: 1,
      created_at: '',
      updated_at: '',
    };
    const insert = database.query.insertInto('rules').values({ name: rule, ...rest, ...columns });
    await expect(insert.execute()).rejects.toMatchObject({ code: 'invalid-input', retryable: false });
  });

  test('an integer beyond 2^53 is not read wrongly; a value that cannot be stored is a bug', async () => {
    const database = await open();
    await expect(sql`SELECT 9007199254740993::bigint AS n`.execute(database.query)).rejects.toMatchObject({
      code: 'storage-unavailable',
    });
    for (const value of [true, undefined, {}]) {
      const refused = sql`SELECT ${value}`.execute(database.query);
      await expect(refused).rejects.toThrow(`a ${typeof value} cannot be stored`);
      await expect(refused).rejects.not.toHaveProperty('code');
    }
  });

  test('the two functions that queries borrow from the embedded engine', async () => {
    const database = await open();
    const { rows } =
      await sql`SELECT instr('abcabc', 'ca') AS found, instr('abc', 'x') AS none, unlikely(1 = 1) AS same`.execute(
        database.query,
      );
    expect(rows).toEqual([{ found: 3, none: 0, same: true }]);
  });
});

test('the audit’s triggers use their own schema, whatever the session’s search path', async () => {
  const database = await open();
  await database.query
    .insertInto('audit_chain')
    .values({
      log: 'events',
      tenant_id: 't',
      project_id: 'p',
      sequence: 0,
      hash: '0'.repeat(64),
      occurred_at: '',
      era: 0,
      closed_through: 0,
    })
    .execute();
  const schema = place.limits.postgres_schema;
  await expect(
    runOn(
      place,
      `CREATE TEMP TABLE audit_chain AS SELECT * FROM audit_chain;
       UPDATE pg_temp.audit_chain SET sequence = 7;
       SET search_path TO pg_temp;
       INSERT INTO ${schema}.audit_event SELECT chain_id, 8, 'event', '', 0, '', '', '', '', '', '', '', '', '', NULL, NULL, NULL,
         hash, 'x' FROM audit_chain`,
    ),
  ).rejects.toMatchObject({ cause: { message: expect.stringContaining('behind the last one') } });
});
