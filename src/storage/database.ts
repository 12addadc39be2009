/** One typed query layer over the site's databases. Nothing above knows which engine is underneath. */
import { Kysely, type Transaction as KyselyTransaction, SqliteDialect, sql } from 'kysely';
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { openDatabaseThread } from './database-apart.ts';
import { fileLimits } from './limits.ts';
import { migrations } from './migrations.ts';
import { connectPostgres, migratePostgres, type PostgresPlace } from './postgres.ts';
import { postgresMigrations } from './postgres-migrations.ts';
import type { RuntimeTables, SiteTables } from './schema.ts';
import { type Durability, isLocked, type MigrationStep, migrate, openSqlite, orClose, queryable } from './sqlite.ts';

interface Handle<Tables> {
  readonly query: Kysely<Tables>;
  /** Resolves when the database can be reached and has the newest format; throws one line for the operator. */
  ready(): Promise<void>;
  /** Commits what changes nothing, all the way to the disk: refuses like any other commit when it cannot. */
  commitNothing(): Promise<void>;
  /**
   * All or nothing; takes the write lock at once. While another process has that, it is waited for without keeping this thread
   * from other work, and refused with `storage-unavailable` in the end.
   */
  transaction<T>(work: (transaction: KyselyTransaction<Tables>) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export type Database = Handle<SiteTables>;
export type Transaction = KyselyTransaction<SiteTables>;
export interface RuntimeDatabase extends Handle<RuntimeTables> {
  /** Whether the epoch of this handle is still the current one, and stays so until the end of the transaction. */
  isCurrent(transaction: KyselyTransaction<RuntimeTables>): Promise<boolean>;
}

/** Where a database is: a file of the embedded engine, or a server. */
export type DatabasePlace = string | PostgresPlace;

/** Rules and audit: every commit is on disk before it is answered. */
export function openDatabase(place: DatabasePlace, clock = systemClock): Database {
  return typeof place === 'string'
    ? openFile<SiteTables>(place, 'full', migrations.site, 'the site database', clock)
    : openServer<SiteTables>(place, 'site');
}

/**
 * As `openDatabase`, for a process that must not stand still while a disk does: a thread of its own carries out the statements of
 * a file. The file is brought forward here, before that begins.
 */
export async function openDatabaseApart(place: DatabasePlace, clock: Clock, log: Log): Promise<Database> {
  const here = openDatabase(place, clock);
  if (typeof place !== 'string') return here;
  await here.close();
  const thread = openDatabaseThread(place, clock, log);
  const query = new Kysely<SiteTables>({ dialect: thread.dialect });
  return {
    ...handleOf(query, clock),
    async close() {
      await query.destroy();
      await thread.close();
    },
  };
}

/** The history of a thousand rules grows in a thousand places of an index. */
const runtimePageBytes = 1024;

/** History and rule state: a power cut may lose the last moments, never the order. */
export function openRuntimeDatabase(place: DatabasePlace, clock = systemClock): RuntimeDatabase {
  if (typeof place === 'string') {
    const file = openFile<RuntimeTables>(
      place,
      'normal',
      migrations.runtime,
      'the runtime database',
      clock,
      runtimePageBytes,
    );
    return { ...file, isCurrent: () => Promise.resolve(true) };
  }
  return {
    ...openServer<RuntimeTables>(place, 'runtime'),
    async isCurrent(transaction) {
      if (place.epoch === undefined) return true;
      // Locked: the next holder's epoch begins after this transaction.
      const row = await transaction.selectFrom('engine_lease').select('epoch').forShare().executeTakeFirst();
      return row?.epoch === place.epoch;
    },
  };
}

function openFile<Tables>(
  file: string,
  durability: Durability,
  steps: readonly MigrationStep[],
  what: string,
  clock: Clock,
  pageBytes?: number,
): Handle<Tables> {
  const sqlite = openSqlite(file, durability, pageBytes);
  orClose(sqlite, () => {
    migrate(sqlite, steps, what);
    sqlite.exec(`PRAGMA busy_timeout = ${fileLimits.busy_timeout_ms}`);
  });
  const query = new Kysely<Tables>({ dialect: new SqliteDialect({ database: queryable(sqlite) }) });
  return {
    ...handleOf(query, clock),
    async close() {
      await query.destroy();
      // The query layer closes only what it used; a handle left open would leave the write-ahead log behind.
      if (sqlite.isOpen) sqlite.close();
    },
  };
}

/** What is the same for files here and in another thread. */
function handleOf<Tables>(query: Kysely<Tables>, clock: Clock): Omit<Handle<Tables>, 'close'> {
  const transaction = patientTransactions(query, clock);
  return { query, ready: () => Promise.resolve(), commitNothing: () => transaction(rewriteFormat), transaction };
}

/** Another connection's lock makes SQLite stand still and wait: so it is asked again and again for a moment only. */
function patientTransactions<Tables>(query: Kysely<Tables>, clock: Clock): Handle<Tables>['transaction'] {
  return async (work) => {
    const untilMs = clock.monotonicMs() + fileLimits.begin_deadline_ms;
    for (;;) {
      let begun = false;
      try {
        return await query.transaction().execute((transaction) => {
          begun = true;
          return work(transaction);
        });
      } catch (error) {
        if (begun || !isLocked(error) || clock.monotonicMs() >= untilMs) throw error;
      }
      await sleep(clock, fileLimits.begin_retry_ms);
    }
  };
}

/** The same number again: a page is written all the same. */
async function rewriteFormat<Tables>(transaction: KyselyTransaction<Tables>): Promise<void> {
  const { rows } = await sql<{ user_version: number }>`PRAGMA user_version`.execute(transaction);
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no format');
  await sql.raw(`PRAGMA user_version = ${row.user_version}`).execute(transaction);
}

function openServer<Tables>(place: PostgresPlace, name: 'site' | 'runtime'): Handle<Tables> {
  const server = connectPostgres(place, name);
  const query = new Kysely<Tables>({ dialect: server.dialect });
  return {
    query,
    async ready() {
      try {
        await migratePostgres(server, place.limits, name, postgresMigrations[name]);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        const reason = error.cause instanceof Error ? error.cause.message : 'it does not answer';
        throw new Error(`the ${name} database cannot be opened: ${reason}`, { cause: error });
      }
    },
    // A row that is updated to what it was is written all the same.
    async commitNothing() {
      await sql`UPDATE data_format SET version = version WHERE name = ${name}`.execute(query);
    },
    transaction: (work) => query.transaction().execute(work),
    async close() {
      await query.destroy();
      await server.close();
    },
  };
}
