/** The site's databases: their durability (decisions §1.2), their format, and that a clean end leaves one file each. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase, openRuntimeDatabase } from './database.ts';
import { migrations } from './migrations.ts';

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
    expect(await pragma(database, 'user_version')).toBe(migrations[name].length);
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
    made.exec(`PRAGMA user_version = ${migrations[name].length + 1}`);
    made.close();
    const line = `the ${name} database has data format ${migrations[name].length + 1}; this program knows ${migrations[name].length}: use the newer program, or restore a backup`;
    expect(() => open(file)).toThrow(new Error(line));
    // The last handle to go takes the write-ahead log with it.
    expect(readdirSync(folder)).toEqual([`${name}.sqlite`]);
    const after = new DatabaseSync(file, { readOnly: true });
    expect(after.prepare('SELECT count(*) AS n FROM sqlite_schema').get()).toEqual({ n: 0 });
    after.close();
  });

  test('a transaction is all or nothing', async () => {
    const database = open(file);
    await sql`CREATE TABLE scratch (n INTEGER)`.execute(database.query);
    const failed = database.transaction(async (within) => {
      await sql`INSERT INTO scratch VALUES (1)`.execute(within);
      throw new Error('given up');
    });
    await expect(failed).rejects.toThrow('given up');
    expect((await sql`SELECT * FROM scratch`.execute(database.query)).rows).toEqual([]);
    expect(await database.transaction(async (within) => (await sql`SELECT 1 AS n`.execute(within)).rows)).toEqual([
      { n: 1 },
    ]);
    await database.close();
  });

  test.each([[false], [true]])(
    'decisions §1 a clean end leaves the one file (used: %s), whichever handle is the last',
    async (used) => {
      const handles = [open(file), open(file)];
      if (used) for (const handle of handles) await sql`SELECT * FROM sqlite_schema`.execute(handle.query);
      expect(readdirSync(folder)).toContain(`${name}.sqlite-wal`);
      for (const handle of handles) await handle.close();
      expect(readdirSync(folder)).toEqual([`${name}.sqlite`]);
    },
  );
});

test('decisions §2.1 ids of rules are never given again, not even the newest', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-database-'));
  const database = openDatabase(join(folder, 'site.sqlite'));
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
  rmSync(folder, { recursive: true });
});
