/** A database file behind its own thread behaves like one opened here, and refuses everything once that thread has ended. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Kysely, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import type { Database } from '../storage/database.ts';
import { openDatabaseThread } from '../storage/database-apart.ts';
import { fileLimits } from '../storage/limits.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { openDatabaseApart } from './site-database.ts';

describe('a database file whose statements another thread carries out', () => {
  let folder = '';
  let file = '';
  let database: Database;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'setpoint-apart-'));
    file = join(folder, 'site.sqlite');
    database = await openDatabaseApart(file, systemClock, silentLog);
  });
  afterEach(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const rows = async (): Promise<unknown[]> => (await sql`SELECT * FROM scratch`.execute(database.query)).rows;

  test('answers with rows, numbers of changes and of rows, bytes and large numbers as they are', async () => {
    await sql`CREATE TABLE scratch (id INTEGER PRIMARY KEY, large INTEGER, bytes BLOB, text TEXT)`.execute(
      database.query,
    );
    const bytes = new Uint8Array([0, 1, 255]);
    const inserted = await sql`INSERT INTO scratch (large, bytes, text) VALUES (${2 ** 50}, ${bytes}, 'é')`.execute(
      database.query,
    );
    expect([inserted.insertId, inserted.numAffectedRows]).toEqual([1n, 1n]);
    expect(await rows()).toEqual([{ id: 1, large: 2 ** 50, bytes, text: 'é' }]);
    expect((await sql`DELETE FROM scratch`.execute(database.query)).numAffectedRows).toBe(1n);
  });

  test('a transaction is all or nothing, and others wait for its end', async () => {
    await sql`CREATE TABLE scratch (n INTEGER)`.execute(database.query);
    const failed = database.transaction(async (transaction) => {
      await sql`INSERT INTO scratch VALUES (1)`.execute(transaction);
      throw new Error('given up');
    });
    const after = database.transaction((transaction) => sql`INSERT INTO scratch VALUES (2)`.execute(transaction));
    await expect(failed).rejects.toThrow('given up');
    await after;
    expect(await rows()).toEqual([{ n: 2 }]);
  });

  test('a statement that cannot be carried out is refused, and the next one is not', async () => {
    await expect(sql`SELECT * FROM nowhere`.execute(database.query)).rejects.toMatchObject({
      code: 'storage-unavailable',
    });
    expect((await sql`SELECT 1 AS n`.execute(database.query)).rows).toEqual([{ n: 1 }]);
  });

  test('a lock that another connection holds is waited for, without keeping this thread', async () => {
    await sql`CREATE TABLE scratch (n INTEGER)`.execute(database.query);
    const other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    const written = database.transaction((transaction) => sql`INSERT INTO scratch VALUES (1)`.execute(transaction));
    await new Promise((resolve) => setTimeout(resolve, fileLimits.busy_timeout_ms + fileLimits.begin_retry_ms));
    other.exec('ROLLBACK');
    other.close();
    await written;
    expect(await rows()).toEqual([{ n: 1 }]);
  });

  test('a batch is one transaction: all of it is stored, or nothing if a constraint refuses a statement', async () => {
    await sql`CREATE TABLE scratch (n INTEGER UNIQUE)`.execute(database.query);
    const insert = (n: number) => ({ sql: 'INSERT INTO scratch VALUES (?)', parameters: [n] });
    const raise = { sql: 'UPDATE scratch SET n = n + 10', parameters: [] };
    expect(await database.batch?.([insert(1), insert(2), raise])).toEqual([1, 1, 2]);
    expect(await database.batch?.([insert(3), insert(11)])).toBeNull();
    await expect(database.batch?.([insert(4), { sql: 'nonsense', parameters: [] }])).rejects.toMatchObject({
      code: 'storage-unavailable',
    });
    expect(await rows()).toEqual([{ n: 11 }, { n: 12 }]);
  });

  test('a batch never runs inside an open transaction, and waits for the lock of another connection', async () => {
    await sql`CREATE TABLE scratch (n INTEGER)`.execute(database.query);
    const insert = (n: number) => ({ sql: 'INSERT INTO scratch VALUES (?)', parameters: [n] });
    const failed = database.transaction(async (transaction) => {
      await sql`INSERT INTO scratch VALUES (1)`.execute(transaction);
      await sql`SELECT 1`.execute(transaction);
      throw new Error('given up');
    });
    const stored = database.batch?.([insert(2)]);
    await expect(failed).rejects.toThrow('given up');
    expect(await stored).toEqual([1]);
    const other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    const waiting = database.batch?.([insert(3)]);
    await new Promise((resolve) => setTimeout(resolve, fileLimits.busy_timeout_ms + fileLimits.begin_retry_ms));
    other.exec('ROLLBACK');
    other.close();
    expect(await waiting).toEqual([1]);
    expect(await rows()).toEqual([{ n: 2 }, { n: 3 }]);
  });

  test('closing leaves one file', async () => {
    await sql`CREATE TABLE scratch (n INTEGER)`.execute(database.query);
    await database.close();
    expect(readdirSync(folder)).toEqual(['site.sqlite']);
    database = await openDatabaseApart(file, systemClock, silentLog);
  });
});

test('after a crash of the thread everything is refused, and the log says what to do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-apart-'));
  const lines: string[] = [];
  const log = { ...silentLog, error: (message: string) => void lines.push(message) };
  // A folder cannot be opened as a file: the thread throws.
  const thread = openDatabaseThread(folder, systemClock, log);
  const query = new Kysely<Record<string, never>>({ dialect: thread.dialect });
  for (const attempt of [1, 2])
    await expect(sql`SELECT ${attempt}`.execute(query)).rejects.toMatchObject({ code: 'storage-unavailable' });
  expect(lines).toEqual(['database thread failed; restart the service']);
  await query.destroy();
  await thread.close();
  rmSync(folder, { recursive: true, force: true });
});

test('a transaction that began after its caller had gone is taken back before the next statement', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-apart-'));
  const file = join(folder, 'site.sqlite');
  const clock = simulatedClock();
  const thread = openDatabaseThread(file, clock, silentLog);
  const query = new Kysely<Record<string, never>>({ dialect: thread.dialect });
  await sql`CREATE TABLE scratch (n INTEGER)`.execute(query);
  const begun = query.transaction().execute(() => Promise.resolve());
  // The statement is on its way; the thread's answer comes in a later turn of the event loop.
  for (let step = 0; step < 50; step++) await Promise.resolve();
  clock.advance(fileLimits.answer_deadline_ms);
  await expect(begun).rejects.toThrow('did not answer in time');

  await sql`INSERT INTO scratch VALUES (1)`.execute(query);
  const other = new DatabaseSync(file);
  expect(other.prepare('SELECT n FROM scratch').all()).toEqual([{ n: 1 }]);
  other.close();
  await query.destroy();
  await thread.close();
  rmSync(folder, { recursive: true, force: true });
});

test('a batch that has not started when its caller is refused never runs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-apart-'));
  const file = join(folder, 'site.sqlite');
  const other = new DatabaseSync(file);
  other.exec('CREATE TABLE scratch (n INTEGER)');
  const thread = openDatabaseThread(file, systemClock, silentLog, 100);
  const query = new Kysely<Record<string, never>>({ dialect: thread.dialect });
  const slow = sql`WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 3000000) SELECT max(n) FROM c`;
  const late = expect(slow.execute(query)).rejects.toThrow('did not answer in time');
  // A query goes to the thread some turns after its call, a batch at once.
  await nextTurn();
  // Its statement waits behind the slow one.
  await expect(thread.batch([{ sql: 'INSERT INTO scratch VALUES (1)', parameters: [] }])).rejects.toThrow(
    'did not answer in time',
  );
  await late;
  // Answered after the batch had its turn.
  await expect.poll(() => sql`SELECT 1`.execute(query).then(({ rows }) => rows.length)).toBe(1);
  expect(other.prepare('SELECT n FROM scratch').all()).toEqual([]);
  await thread.close();
  other.close();
  await query.destroy();
  rmSync(folder, { recursive: true, force: true });
});
