/** SQLite under the query layer: migrations forward, one clear line for what cannot be opened, locks, numbers as they are. */
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { Kysely, SqliteDialect, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Durability, migrate, openSqlite, orClose, queryable } from './sqlite.ts';

let folder = '';
let file = '';
const opened: DatabaseSync[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-sqlite-'));
  file = join(folder, 'test.sqlite');
});
afterEach(() => {
  for (const database of opened.splice(0)) if (database.isOpen) database.close();
  rmSync(folder, { recursive: true, force: true });
});
const open = (durability: Durability = 'full', of = file): DatabaseSync => {
  const database = openSqlite(of, durability);
  opened.push(database);
  return database;
};
const pragma = (database: DatabaseSync, name: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
const tables = (database: DatabaseSync): unknown[] =>
  database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .map(({ name }) => name);

describe('a handle', () => {
  test.each([
    ['full', 2],
    ['normal', 1],
  ] as const)(
    '[platform §3] durability %s is really set, on a log that readers do not wait for',
    (durability, level) => {
      const database = open(durability);
      expect(pragma(database, 'synchronous')).toBe(level);
      expect(pragma(database, 'journal_mode')).toBe('wal');
      expect(pragma(database, 'foreign_keys')).toBe(1);
      expect(pragma(database, 'busy_timeout')).toBe(5000);
    },
  );

  test('is set again at every start, also on a file that another program made', () => {
    open().close();
    const plain = join(folder, 'plain.sqlite');
    const made = open('full', plain);
    made.exec('PRAGMA journal_mode = DELETE');
    made.close();
    expect(pragma(open('full', plain), 'journal_mode')).toBe('wal');
    expect(pragma(open('normal'), 'synchronous')).toBe(1);
  });

  test('an invalid database file is named in one line and not changed', () => {
    writeFileSync(file, 'no database at all, but as long as the header of one: '.repeat(40));
    expect(() => open()).toThrow(/^test\.sqlite cannot be opened: file is not a database$/);
    expect(readdirSync(folder)).toEqual(['test.sqlite']);
    expect(() => open('full', folder)).toThrow(/^setpoint-sqlite-\w+ cannot be opened: unable to open database file$/);
    expect(() => open('full', join(folder, 'none', 'x.sqlite'))).toThrow(/^x\.sqlite cannot be opened: /);
    expect(existsSync(join(folder, 'none'))).toBe(false);
  });
});

describe('migrations', () => {
  const steps = [
    'CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);',
    'ALTER TABLE a ADD COLUMN y TEXT; UPDATE a SET y = CAST(x AS TEXT);',
    'CREATE TABLE b (x INTEGER) STRICT;',
  ];

  test('go forward from every format to the newest, and each ends the same', () => {
    for (let from = 0; from <= steps.length; from++) {
      const database = open('full', join(folder, `from-${from}.sqlite`));
      migrate(database, steps.slice(0, from), 'the test database');
      expect(pragma(database, 'user_version')).toBe(from);
      migrate(database, steps, 'the test database');
      expect([pragma(database, 'user_version'), tables(database)]).toEqual([3, ['a', 'b']]);
      expect(database.prepare('SELECT * FROM a').all()).toEqual([{ x: 1, y: '1' }]);
    }
  });

  test('a database that is up to date is not touched', () => {
    const database = open();
    migrate(database, steps, 'the test database');
    const before = pragma(database, 'data_version');
    const other = open();
    migrate(other, steps, 'the test database');
    expect(other.prepare('SELECT count(*) AS n FROM a').get()).toEqual({ n: 1 });
    expect(pragma(database, 'data_version')).toBe(before);
  });

  test('a newer format is refused with one clear line, and nothing is changed', () => {
    const database = open();
    migrate(database, steps, 'the test database');
    expect(() => migrate(database, steps.slice(0, 2), 'the test database')).toThrow(
      /^the test database has data format 3; this program supports 2: use the newer program, or restore a backup$/,
    );
    expect([pragma(database, 'user_version'), tables(database)]).toEqual([3, ['a', 'b']]);
  });

  test('all or nothing: a step that fails takes back the ones before it, and the handle is closed', () => {
    const first = open();
    migrate(first, steps.slice(0, 1), 'the test database');
    first.close();
    const database = open();
    const failing = [...steps, 'CREATE TABLE c (x INTEGER) STRICT; INSERT INTO nowhere VALUES (1);'];
    expect(() => orClose(database, () => migrate(database, failing, 'the test database'))).toThrow(/nowhere/);
    expect(database.isOpen).toBe(false);
    const again = open();
    expect([pragma(again, 'user_version'), tables(again)]).toEqual([1, ['a']]);
    migrate(again, steps, 'the test database');
    expect(pragma(again, 'user_version')).toBe(3);
  });

  test('two starts at once: the one that waited finds the work done', async () => {
    const migratedElsewhere = await writeLocked(
      `PRAGMA user_version = 3; CREATE TABLE a (x INTEGER, y TEXT); CREATE TABLE b (x INTEGER);`,
    );
    const database = open();
    // It reads the old version, waits for the lock of the other, and must not do the steps a second time.
    expect(pragma(database, 'user_version')).toBe(0);
    migrate(database, steps, 'the test database');
    expect([pragma(database, 'user_version'), tables(database)]).toEqual([3, ['a', 'b']]);
    expect(database.prepare('SELECT count(*) AS n FROM a').get()).toEqual({ n: 0 });
    await migratedElsewhere.ended;
  });
});

/** Another thread, with a handle of its own, that has the write lock when this resolves and commits soon after. */
async function writeLocked(statements: string): Promise<{ readonly ended: Promise<unknown> }> {
  openSqlite(file, 'full').close();
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(workerData.file);
    database.exec('BEGIN IMMEDIATE');
    database.exec(workerData.statements);
    parentPort.postMessage('locked');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, workerData.holdMs);
    database.exec('COMMIT');
    database.close();`;
  const worker = new Worker(source, { eval: true, workerData: { file, statements, holdMs: 200 } });
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  await new Promise((resolve) => worker.once('message', resolve));
  return { ended };
}

interface Tables {
  t: { n: number | null; s: string | null };
}
const query = (database: DatabaseSync): Kysely<Tables> =>
  new Kysely<Tables>({ dialect: new SqliteDialect({ database: queryable(database) }) });

describe('two handles on one file', () => {
  test('a transaction takes the write lock at once: the second one waits and reads the writes of the first', async () => {
    const elsewhere = await writeLocked('CREATE TABLE t (n INTEGER, s TEXT); INSERT INTO t VALUES (1, NULL);');
    const database = query(open());
    const n = await database.transaction().execute(async (transaction) => {
      const { count } = await transaction
        .selectFrom('t')
        .select((of) => of.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      await transaction.insertInto('t').values({ n: 2, s: null }).execute();
      return count;
    });
    expect(n).toBe(1);
    expect(await database.selectFrom('t').select('n').orderBy('n').execute()).toEqual([{ n: 1 }, { n: 2 }]);
    await elsewhere.ended;
  });

  test('a lock that does not end in time is a refusal that may pass, and says nothing of SQL', async () => {
    const holder = open();
    holder.exec('CREATE TABLE t (n INTEGER, s TEXT)');
    const waiting = open();
    waiting.exec('PRAGMA busy_timeout = 20');
    holder.exec('BEGIN IMMEDIATE');
    const refused = query(waiting)
      .transaction()
      .execute(async (transaction) => {
        await transaction.insertInto('t').values({ n: 1, s: null }).execute();
      });
    await expect(refused).rejects.toMatchObject({ code: 'storage-unavailable', retryable: true });
    await expect(refused).rejects.not.toThrow(/lock|sql|begin/i);
    holder.exec('COMMIT');
    await query(waiting).insertInto('t').values({ n: 1, s: null }).execute();
    expect(await query(holder).selectFrom('t').select('n').execute()).toEqual([{ n: 1 }]);
  });

  test('a full disk is named as the cause, and the next transaction works', async () => {
    const database = open();
    database.exec('CREATE TABLE t (v TEXT) STRICT; PRAGMA max_page_count = 20');
    const query = new Kysely<{ t: { v: string } }>({ dialect: new SqliteDialect({ database: queryable(database) }) });
    const insert = (v: string): Promise<unknown> =>
      query.transaction().execute((transaction) => transaction.insertInto('t').values({ v }).execute());
    const full = await insert('x'.repeat(200_000)).catch((error: unknown) => error);
    expect(full).toMatchObject({ code: 'storage-unavailable', cause: { message: 'database or disk is full' } });
    await insert('y');
    expect(await query.selectFrom('t').selectAll().execute()).toEqual([{ v: 'y' }]);
  });

  test('readers see a complete transaction or none of it', async () => {
    const writer = query(open());
    await sql`CREATE TABLE t (n INTEGER, s TEXT)`.execute(writer);
    const reader = query(open());
    const count = async () => (await reader.selectFrom('t').select('n').execute()).length;
    await writer.transaction().execute(async (transaction) => {
      for (const n of [1, 2, 3]) await transaction.insertInto('t').values({ n, s: null }).execute();
      expect(await count()).toBe(0);
    });
    expect(await count()).toBe(3);
    const failed = writer.transaction().execute(async (transaction) => {
      await transaction.deleteFrom('t').execute();
      throw new Error('given up');
    });
    await expect(failed).rejects.toThrow('given up');
    expect(await count()).toBe(3);
  });

  test('commits are in the files: a copy of them, as after a power loss, has them', async () => {
    const database = query(open());
    await sql`CREATE TABLE t (n INTEGER, s TEXT)`.execute(database);
    await database.insertInto('t').values({ n: 7, s: 'kept' }).execute();
    const copy = join(folder, 'copy.sqlite');
    for (const suffix of ['', '-wal']) copyFileSync(`${file}${suffix}`, `${copy}${suffix}`);
    expect(await query(open('full', copy)).selectFrom('t').selectAll().execute()).toEqual([{ n: 7, s: 'kept' }]);
  });
});

describe('values', () => {
  let database: Kysely<Tables>;
  beforeEach(async () => {
    database = query(open());
    await sql`CREATE TABLE t (n INTEGER, s TEXT) STRICT`.execute(database);
  });
  const kept = async (row: Tables['t']) => {
    await database.deleteFrom('t').execute();
    await database.insertInto('t').values(row).execute();
    return database.selectFrom('t').selectAll().executeTakeFirstOrThrow();
  };

  test('integers and texts are read back unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.maxSafeInteger(),
        // Every code point but lone surrogates, which UTF-8 does not have.
        fc.string({ unit: 'binary' }),
        async (n, s) => {
          expect(await kept({ n, s })).toEqual({ n, s });
        },
      ),
      { numRuns: 200 },
    );
    expect(await kept({ n: null, s: null })).toEqual({ n: null, s: null });
    expect(await kept({ n: Number.MAX_SAFE_INTEGER, s: '' })).toEqual({ n: Number.MAX_SAFE_INTEGER, s: '' });
  });

  test('a number is bound as an integer: it divides like one', async () => {
    const { rows } = await sql<{ half: number; kind: string }>`SELECT ${7} / 2 AS half, typeof(${7}) AS kind`.execute(
      database,
    );
    expect(rows).toEqual([{ half: 3, kind: 'integer' }]);
  });

  test('a fraction does not fit an integer column; an integer beyond 2^53 is not read wrongly', async () => {
    await expect(kept({ n: 0.5, s: null })).rejects.toMatchObject({ code: 'storage-unavailable' });
    await sql`INSERT INTO t VALUES (9007199254740993, NULL)`.execute(database);
    await expect(database.selectFrom('t').selectAll().execute()).rejects.toMatchObject({ code: 'storage-unavailable' });
  });

  test('a value that cannot be stored is a bug, not a failure of the database', async () => {
    for (const value of [true, undefined, {}, Symbol('x')]) {
      const refused = sql`SELECT ${value}`.execute(database);
      await expect(refused).rejects.toThrow(`a ${typeof value} cannot be stored`);
      await expect(refused).rejects.not.toHaveProperty('code');
    }
  });

  test('more different statements than are cached still run', async () => {
    for (let count = 0; count < 1100; count++) {
      const { rows } = await sql<{ n: number }>`SELECT ${sql.lit(count)} + ${1} AS n`.execute(database);
      expect(rows).toEqual([{ n: count + 1 }]);
    }
  });
});
