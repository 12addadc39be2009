/** The site's databases: their durability [platform §3], their format, and one file each after a clean end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { systemClock } from '../base/clock.ts';
import { firstIdAt } from '../base/id.ts';
import { silentLog } from '../base/log.ts';
import { fileLimits } from '../storage/limits.ts';
import { migratePostgres } from '../storage/postgres.ts';
import { engines, runOn, testPlaces } from '../testing/engines.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { schemas } from './schemas.ts';
import { openDatabase, openDatabaseApart } from './site-database.ts';

const databases = [
  ['site', openDatabase, 2],
  ['runtime', openRuntimeDatabase, 1],
] as const;

describe.each(databases)('the %s database', (name, open, synchronous) => {
  let folder = '';
  let file = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'setpoint-database-'));
    file = join(folder, `${name}.sqlite`);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const pragma = async (database: ReturnType<typeof open>, what: string): Promise<unknown> => {
    const { rows } = await sql<Record<string, unknown>>`PRAGMA ${sql.raw(what)}`.execute(database.query);
    return Object.values(rows[0] ?? {})[0];
  };

  test(`has durability ${synchronous === 2 ? 'full' : 'normal'}, a write-ahead log and the newest format`, async () => {
    const database = open(file);
    expect(await pragma(database, 'synchronous')).toBe(synchronous);
    expect(await pragma(database, 'journal_mode')).toBe('wal');
    expect(await pragma(database, 'user_version')).toBe(schemas[name].file.length);
    expect(await pragma(database, 'integrity_check')).toBe('ok');
    await database.close();
  });

  test('a second start changes nothing', async () => {
    const schema = async () => {
      const database = open(file);
      const { rows } = await sql`SELECT type, name, sql FROM sqlite_schema ORDER BY name`.execute(database.query);
      await database.close();
      return rows;
    };
    const first = await schema();
    expect(first.length).toBeGreaterThan(1);
    expect(await schema()).toEqual(first);
  });

  test('a newer format is refused with one clear line; the file stays as it is, and no handle stays on it', () => {
    const made = new DatabaseSync(file);
    made.exec(`PRAGMA user_version = ${schemas[name].file.length + 1}`);
    made.close();
    const line = `the ${name} database has data format ${schemas[name].file.length + 1}; this program supports ${schemas[name].file.length}: use the newer program, or restore a backup`;
    expect(() => open(file)).toThrow(new Error(line));
    // The last handle to close removes the write-ahead log.
    expect(readdirSync(folder)).toEqual([`${name}.sqlite`]);
    const after = new DatabaseSync(file, { readOnly: true });
    expect(after.prepare('SELECT count(*) AS n FROM sqlite_schema').get()).toEqual({ n: 0 });
    after.close();
  });

  test('a transaction is all or nothing', async () => {
    const database = open(file);
    await sql`CREATE TABLE scratch (n INTEGER)`.execute(database.query);
    const failed = database.transaction(async (transaction) => {
      await sql`INSERT INTO scratch VALUES (1)`.execute(transaction);
      throw new Error('given up');
    });
    await expect(failed).rejects.toThrow('given up');
    expect((await sql`SELECT * FROM scratch`.execute(database.query)).rows).toEqual([]);
    expect(
      await database.transaction(async (transaction) => (await sql`SELECT 1 AS n`.execute(transaction)).rows),
    ).toEqual([{ n: 1 }]);
    await database.close();
  });

  test('while another process holds the write lock, this thread does its other work; then the transaction is carried out', async () => {
    const database = open(file);
    await sql`CREATE TABLE scratch (n INTEGER)`.execute(database.query);
    const holder = await holdLock(file);
    const insert = (n: number) =>
      database.transaction((transaction) => sql`INSERT INTO scratch VALUES (${n})`.execute(transaction));
    const waiting = Promise.all([insert(1), insert(2)]);
    let settled = false;
    void waiting.then(() => (settled = true));
    let turns = 0;
    let slowestMs = 0;
    const untilMs = systemClock.monotonicMs() + 600;
    for (let beforeMs = systemClock.monotonicMs(); beforeMs < untilMs; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
      // Readers do not wait for it, not even on this handle.
      if (turns % 50 === 0)
        expect((await sql`SELECT count(*) AS n FROM scratch`.execute(database.query)).rows).toEqual([{ n: 0 }]);
      const nowMs = systemClock.monotonicMs();
      slowestMs = Math.max(slowestMs, nowMs - beforeMs);
      beforeMs = nowMs;
    }
    expect(settled).toBe(false);
    expect(turns).toBeGreaterThan(20);
    // A busy machine adds to it; blocking until the lock is free would take all of the time.
    expect(slowestMs).toBeLessThan(400);
    await holder.release();
    await waiting;
    expect((await sql`SELECT n FROM scratch ORDER BY n`.execute(database.query)).rows).toEqual([{ n: 1 }, { n: 2 }]);
    await database.close();
  });

  test('a lock that is held for longer than begin_deadline_ms is a refusal that may pass', async () => {
    const clock = simulatedClock();
    const database = open(file, clock);
    await sql`CREATE TABLE scratch (n INTEGER)`.execute(database.query);
    const holder = await holdLock(file);
    let outcome: unknown = 'waits';
    const done = database
      .transaction((transaction) => sql`INSERT INTO scratch VALUES (1)`.execute(transaction))
      .catch((error: unknown) => (outcome = error));
    const pass = async (ms: number): Promise<void> => {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      clock.advance(ms);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    };
    await pass(fileLimits.begin_deadline_ms - 1);
    expect(outcome).toBe('waits');
    await pass(1);
    await pass(fileLimits.begin_retry_ms);
    expect(outcome).toMatchObject({ code: 'storage-unavailable', cause: { message: 'database is locked' } });
    await holder.release();
    await done;
    expect((await sql`SELECT n FROM scratch`.execute(database.query)).rows).toEqual([]);
    await database.close();
  });

  test.each([[false], [true]])(
    '[platform §1.1] a clean end leaves the one file (used: %s), whichever handle is the last',
    async (used) => {
      const handles = [open(file), open(file)];
      if (used) for (const handle of handles) await sql`SELECT * FROM sqlite_schema`.execute(handle.query);
      expect(readdirSync(folder)).toContain(`${name}.sqlite-wal`);
      for (const handle of handles) await handle.close();
      expect(readdirSync(folder)).toEqual([`${name}.sqlite`]);
    },
  );
});

/** Another process that holds the file's write lock until it receives a message. */
async function holdLock(file: string): Promise<{ release(): Promise<void> }> {
  const program = `
    const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(process.argv[1]);
    database.exec('BEGIN IMMEDIATE');
    process.stdout.write('held');
    process.stdin.once('data', () => { database.exec('ROLLBACK'); database.close(); process.exit(); });`;
  const child = spawn(process.execPath, ['-e', program, file], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return {
    async release() {
      const exited = once(child, 'exit');
      child.stdin.write('release');
      await exited;
    },
  };
}

describe.each(engines)('a commit of nothing on %s', (engine) => {
  test('goes to the disk and changes nothing', async () => {
    const places = await testPlaces(engine);
    const database = openDatabase(places.site);
    await database.ready();
    await database.commitNothing();
    await database.commitNothing();
    await database.ready();
    await database.close();
    await places.remove();
  });

  test('is refused where nothing can be committed', async () => {
    const places = await testPlaces(engine);
    const database = openDatabase(places.site);
    await database.ready();
    // Like a disk that became read-only, or a server that is now a standby.
    const readOnly = engine === 'sqlite' ? 'PRAGMA query_only = ON' : 'SET default_transaction_read_only TO on';
    await database.query.connection().execute((connection) => sql.raw(readOnly).execute(connection));
    await expect(database.commitNothing()).rejects.toMatchObject({ code: 'storage-unavailable' });
    await database.close();
    await places.remove();
  });
});

test.each(engines)('[rules §1.1] ids of rules are never given again, not even the newest, on %s', async (engine) => {
  const places = await testPlaces(engine);
  const database = openDatabase(places.site);
  await database.ready();
  const insert = async (): Promise<number> => {
    const rule = { name: 'r', description: null, enabled: 0, priority: 0, cooldown_ms: 0, trigger_config: null };
    const times = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' };
    const { id } = await database.query
      .insertInto('rules')
      .values({ ...rule, ...times, flow_json: null, nodes_json: '{}', revision: 1 })
      .returning('id')
      .executeTakeFirstOrThrow();
    return id;
  };
  expect([await insert(), await insert()]).toEqual([1, 2]);
  await database.query.deleteFrom('rules').execute();
  expect(await insert()).toBe(3);
  await database.close();
  await places.remove();
});

describe.each(engines)('executions of before, on %s', (engine) => {
  test('are packed into blocks, and read back unchanged', async () => {
    const places = await testPlaces(engine);
    const run = async (text: string): Promise<void> => {
      if (typeof places.runtime !== 'string') return void (await runOn(places.runtime, text));
      const file = new DatabaseSync(places.runtime);
      file.exec(text);
      file.close();
    };
    if (typeof places.runtime === 'string') {
      const before = schemas.runtime.file.slice(0, 3);
      for (const step of before) await run(String(step));
      await run(`PRAGMA user_version = ${before.length}`);
    } else {
      await migratePostgres(places.runtime, 'runtime', schemas.runtime.server.slice(0, 3));
    }
    // Half a minute apart, so that they belong to several blocks; written in random order.
    const ids = Array.from(
      { length: 40 },
      (_, index) => `${firstIdAt(1_700_000_000_000 + index * 30_000)}-7000-8000-0`,
    );
    const rows = ids.map((_, index) => {
      const id = ids[(index * 7) % 40] ?? '';
      return `('${id}', 1, '', 'acted', ${index % 2}, '${JSON.stringify({ id, text: 'a b\nc' })}')`;
    });
    rows.push(`('${ids[0]}1', 2, '', 'acted', 0, '{"other":true}')`);
    await run(
      `INSERT INTO execution (execution_id, rule_id, started_at, outcome, unchanged, record) VALUES ${rows.join()}`,
    );
    const database = openRuntimeDatabase(places.runtime);
    try {
      await database.ready();
      const { createRunReader } = await import('../automation/store/run-store.ts');
      const reader = createRunReader(database);
      const page = await reader.page(1, undefined, 100);
      expect(page.map((text) => JSON.parse(text) as unknown)).toEqual(
        ids.toReversed().map((id) => ({ id, text: 'a b\nc' })),
      );
      expect(await reader.page(2, undefined, 100)).toEqual(['{"other":true}']);
    } finally {
      await database.close();
      await places.remove();
    }
  });
});

test('a file tells that it changed, whoever changed it; a server, and a file of this thread, cannot tell at once', async () => {
  const places = await testPlaces('sqlite');
  const apart = await openDatabaseApart(places.site, systemClock, silentLog);
  const versions = [apart.version(), apart.version()];
  await apart.commitNothing();
  versions.push(apart.version());
  const other = openDatabase(places.site);
  await other.commitNothing();
  versions.push(apart.version());
  expect(versions.map((version) => versions.indexOf(version))).toEqual([0, 0, 2, 3]);
  expect(other.version()).toBeNull();
  await other.close();
  await apart.close();
  expect(apart.version()).toBeNull();
  await places.remove();
  const server = await testPlaces('postgres');
  const remote = openDatabase(server.site);
  expect(remote.version()).toBeNull();
  await remote.close();
  await server.remove();
});
