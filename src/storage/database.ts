/**
 * One typed query layer over the site's databases. Callers do not depend on the engine; owners of the tables define
 * them (`src/databases/schemas.ts`).
 */
import { Kysely, type Transaction as KyselyTransaction, SqliteDialect, sql } from 'kysely';
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Validity } from '../base/validity.ts';
import { openDatabaseThread } from './database-apart.ts';
import { fileLimits } from './limits.ts';
import { connectPostgres, migratePostgres, openedOnServer, type PostgresPlace } from './postgres.ts';
import {
  type BoundStatement,
  type Durability,
  isLocked,
  type MigrationStep,
  migrate,
  openSqlite,
  orClose,
  queryable,
  runBatch,
  statementsOf,
  watchVersion,
} from './sqlite.ts';

/** The steps that create a database, for each engine. Their number is its format. */
export interface DatabaseSchema {
  readonly name: 'site' | 'runtime' | 'history' | 'forecasts';
  /** For a file of the embedded engine. */
  readonly file: readonly MigrationStep[];
  /** For PostgreSQL. */
  readonly server: readonly string[];
}

/**
 * Tables of the site database. Each owner adds its own to this interface.
 * @public
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging.
export interface SiteTables {}

export interface Handle<Tables> {
  readonly query: Kysely<Tables>;
  /** A number that changes with every commit to the database, by any process; null if it cannot be read at once. */
  version(): number | null;
  /** Resolves when the database can be reached and has the newest format; throws one line for the operator. */
  ready(): Promise<void>;
  /** Commits an empty change to the disk: fails like any other commit. */
  commitNothing(): Promise<void>;
  /**
   * All or nothing; takes the write lock at once. While another process holds it, the transaction waits without blocking this thread,
   * and is refused with `storage-unavailable` after a time limit.
   */
  transaction<T>(work: (transaction: KyselyTransaction<Tables>) => Promise<T>): Promise<T>;
  /**
   * Runs statements as one transaction in a single call, and resolves with the number of changed rows of each; with null if a trigger
   * or a constraint refused one, and then nothing is stored. On a file it costs a fraction of a transaction of separate calls. Null on
   * a server, where it would save nothing.
   */
  readonly batch: Batch | null;
  /** Of the certificate that a server showed last; null without one. */
  certificate(): Validity | null;
  close(): Promise<void>;
}

type Batch = (statements: readonly BoundStatement[]) => Promise<readonly number[] | null>;

export type Database = Handle<SiteTables>;
export type Transaction = KyselyTransaction<SiteTables>;

/** Where a database is: a file of the embedded engine, or a server. */
export type DatabasePlace = string | PostgresPlace;

/** Durability of a file. Each commit of a `full` one is on disk before it is answered. */
export interface FileWriting {
  readonly durability: Durability;
  readonly pageBytes?: number;
}

export function openHandle<Tables>(
  place: DatabasePlace,
  schema: DatabaseSchema,
  writing: FileWriting,
  clock = systemClock,
): Handle<Tables> {
  return typeof place === 'string' ? openFile(place, schema, writing, clock) : openServer(place, schema);
}

/**
 * As `openHandle` with full durability, for a process that must not block on a disk: a separate thread runs
 * the statements of a file. The file is upgraded here, before that starts.
 */
export async function openHandleApart<Tables>(
  place: DatabasePlace,
  schema: DatabaseSchema,
  clock: Clock,
  log: Log,
): Promise<Handle<Tables>> {
  const here = openHandle<Tables>(place, schema, { durability: 'full' }, clock);
  if (typeof place !== 'string') return here;
  await here.close();
  const thread = openDatabaseThread(place, clock, log);
  const query = new Kysely<Tables>({ dialect: thread.dialect });
  const watch = watchVersion(place);
  return {
    ...handleOf(query, clock, thread.batch),
    version: watch.version,
    async close() {
      watch.close();
      await query.destroy();
      await thread.close();
    },
  };
}

function openFile<Tables>(
  file: string,
  { name, file: steps }: DatabaseSchema,
  { durability, pageBytes }: FileWriting,
  clock: Clock,
): Handle<Tables> {
  const sqlite = openSqlite(file, durability, pageBytes);
  orClose(sqlite, () => {
    migrate(sqlite, steps, `the ${name} database`);
    sqlite.exec(`PRAGMA busy_timeout = ${fileLimits.busy_timeout_ms}`);
  });
  const query = new Kysely<Tables>({ dialect: new SqliteDialect({ database: queryable(sqlite) }) });
  const prepare = statementsOf(sqlite);
  return {
    ...handleOf(query, clock, async (statements) => runBatch(prepare, statements)),
    async close() {
      await query.destroy();
      // The query layer closes only handles that it used; an open one would leave the write-ahead log behind.
      if (sqlite.isOpen) sqlite.close();
    },
  };
}

/** Common interface of a file in this thread and in another one. */
function handleOf<Tables>(query: Kysely<Tables>, clock: Clock, batch: Batch): Omit<Handle<Tables>, 'close'> {
  const transaction: Handle<Tables>['transaction'] = (work) =>
    patiently(clock, (begun) =>
      query.transaction().execute((transaction) => {
        begun();
        return work(transaction);
      }),
    );
  return {
    query,
    version: () => null,
    ready: () => Promise.resolve(),
    commitNothing: () => transaction(rewriteFormat),
    transaction,
    // Holding the connection keeps this out of open transactions.
    batch: (statements) => patiently(clock, () => query.connection().execute(() => batch(statements))),
    certificate: () => null,
  };
}

/**
 * On a lock of another connection SQLite blocks the thread: so each attempt is short, and repeated. Work that has started is
 * not repeated.
 */
async function patiently<T>(clock: Clock, attempt: (begun: () => void) => Promise<T>): Promise<T> {
  const untilMs = clock.monotonicMs() + fileLimits.begin_deadline_ms;
  for (;;) {
    let hasBegun = false;
    try {
      return await attempt(() => {
        hasBegun = true;
      });
    } catch (error) {
      if (hasBegun || !isLocked(error) || clock.monotonicMs() >= untilMs) throw error;
    }
    await sleep(clock, fileLimits.begin_retry_ms);
  }
}

/** The same number again: a page is written all the same. */
async function rewriteFormat<Tables>(transaction: KyselyTransaction<Tables>): Promise<void> {
  const { rows } = await sql<{ user_version: number }>`PRAGMA user_version`.execute(transaction);
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no format');
  await sql.raw(`PRAGMA user_version = ${row.user_version}`).execute(transaction);
}

function openServer<Tables>(place: PostgresPlace, { name, server: steps }: DatabaseSchema): Handle<Tables> {
  const server = connectPostgres(place, name);
  const query = new Kysely<Tables>({ dialect: server.dialect });
  return {
    query,
    version: () => null,
    ready: () => openedOnServer(name, () => migratePostgres(place, name, steps)),
    // SQLite writes an updated row even if its values do not change.
    async commitNothing() {
      await sql`UPDATE data_format SET version = version WHERE name = ${name}`.execute(query);
    },
    transaction: (work) => query.transaction().execute(work),
    batch: null,
    certificate: server.certificate,
    async close() {
      await query.destroy();
      await server.close();
    },
  };
}
