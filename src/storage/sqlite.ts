/**
 * SQLite under the query layer: node:sqlite behind Kysely's own dialect. Integers are bound as integers (a JS number
 * would bind as a float and divide like one); a transaction takes the write lock when it begins, so that two processes
 * on one file wait for each other instead of failing midway.
 */
import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { SqliteDatabase, SqliteStatement } from 'kysely';
import { Fault } from '../base/fault.ts';

export type Durability = 'full' | 'normal';

/** Maximum wait at start for another process's lock, for example during an upgrade. */
const busyTimeoutMs = 5000;
/** SQLite's code for a lock that another connection holds; its extended codes have this in their low byte. */
const busyCode = 5;
/** SQLite's code for a refusal by a trigger or a constraint. */
const constraintCode = 19;
const cachedStatements = 500;
const refusal = 'the storage cannot take the request now; try again';

/** Size of the write-ahead log at which it is copied into the database. */
const checkpointBytes = 4_096_000;

/** `pageBytes`: for a new database. Small pages suit small changes in many places, each of which writes a page. */
export function openSqlite(file: string, durability: Durability, pageBytes = 4096): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: busyTimeoutMs });
    database.exec(`PRAGMA page_size = ${pageBytes}`);
    database.exec(`PRAGMA wal_autocheckpoint = ${Math.floor(checkpointBytes / pageBytes)}`);
    database.exec('PRAGMA journal_mode = WAL');
    database.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`);
    database.exec('PRAGMA foreign_keys = ON');
    // SQLite's own `lower` handles ASCII only, so that a search would miss other letters.
    database.function('lower', { deterministic: true }, (text) =>
      typeof text === 'string' ? text.toLowerCase() : text,
    );
    return database;
  } catch (cause) {
    database?.close();
    // For the operator, at start: the file, and SQLite's reason.
    throw new Error(`${basename(file)} cannot be opened: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

/** Syncs commits of a file with durability `normal`, which SQLite does only from time to time. */
export function syncCommits(file: string): void {
  const log = `${file}-wal`;
  // Without a write-ahead log, all is in the file, which was synced when it was copied there.
  if (!existsSync(log)) return;
  const handle = openSync(log, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/**
 * Tells whether a file in WAL mode was changed by another connection: reads shared memory, not the
 * disk.
 */
export function watchVersion(file: string): { version(): number | null; close(): void } {
  const database = new DatabaseSync(file, { readOnly: true });
  const statement = database.prepare('PRAGMA data_version');
  statement.setReturnArrays(true);
  return {
    version() {
      try {
        return Number(statement.get()?.[0]);
      } catch {
        // Locked, or closed: unknown.
        return null;
      }
    },
    close: () => database.close(),
  };
}

/** Runs `work` on a database; if it fails, its transaction is rolled back and its files are closed. */
export function orClose(database: DatabaseSync, work: () => void): void {
  try {
    work();
  } catch (error) {
    database.close();
    throw error;
  }
}

/** SQL, or code for steps beyond SQL; both inside the migration's transaction. */
export type MigrationStep = string | ((database: DatabaseSync) => void);

/** Applies the missing steps of a file, in one transaction. */
export function migrate(database: DatabaseSync, steps: readonly MigrationStep[], what: string): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (version > steps.length) {
    throw new Error(
      `${what} has data format ${version}; this program supports ${steps.length}: use the newer program, or restore a backup`,
    );
  }
  if (version === steps.length) return;
  database.exec('BEGIN IMMEDIATE');
  // Another process may have upgraded while this one waited for the lock.
  const now = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  for (const step of steps.slice(now)) {
    if (typeof step === 'string') database.exec(step);
    else step(database);
  }
  database.exec(`PRAGMA user_version = ${steps.length}`);
  database.exec('COMMIT');
}

/** The database in the form that Kysely's SQLite dialect expects. */
export function queryable(database: DatabaseSync): SqliteDatabase {
  return { close: () => database.close(), prepare: statementsOf(database) };
}

/** Statements by their text, prepared once. */
export function statementsOf(database: DatabaseSync): (sql: string) => SqliteStatement {
  const statements = new Map<string, SqliteStatement>();
  const prepare = (sql: string): SqliteStatement => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const prepared = runnable(database.prepare(sql === 'begin' ? 'begin immediate' : sql));
    if (statements.size >= cachedStatements) statements.clear();
    statements.set(sql, prepared);
    return prepared;
  };
  return (sql) => {
    const statement = guarded(() => prepare(sql));
    // A full disk ends the transaction by itself; an error from ending it again would hide the reason.
    return sql === 'rollback' && !database.isTransaction ? nothing : statement;
  };
}

function runnable(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => bound(parameters, (values) => statement.all(...values)),
    run: (parameters) => bound(parameters, (values) => statement.run(...values)),
    iterate: (parameters) => bound(parameters, (values) => statement.iterate(...values)),
  };
}

/** A statement with the values of its parameters. */
export interface BoundStatement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** Runs statements as one transaction; returns the number of changed rows of each, or null if a trigger or a constraint refused one. */
export function runBatch(
  prepare: (sql: string) => SqliteStatement,
  statements: readonly BoundStatement[],
): readonly number[] | null {
  prepare('begin').run([]);
  try {
    const changed = statements.map(({ sql, parameters }) => Number(prepare(sql).run(parameters).changes));
    prepare('commit').run([]);
    return changed;
  } catch (error) {
    prepare('rollback').run([]);
    if (resultCode(error) === constraintCode) return null;
    throw error;
  }
}

/** A statement that has already run. */
const nothing: SqliteStatement = {
  reader: false,
  all: () => [],
  run: () => ({ changes: 0, lastInsertRowid: 0 }),
  iterate: () => [][Symbol.iterator](),
};

/** Whether it was refused because another connection holds the lock. */
export function isLocked(error: unknown): boolean {
  return resultCode(error) === busyCode;
}

/** SQLite's error code; null for other errors. */
function resultCode(error: unknown): number | null {
  const cause = error instanceof Fault ? error.cause : undefined;
  return cause instanceof Error && 'errcode' in cause ? Number(cause.errcode) & 0xff : null;
}

/** The error of a lock that another connection holds, as `isLocked` recognizes it. */
export function lockedFault(): Fault {
  const cause = Object.assign(new Error('the database is locked'), { errcode: busyCode });
  return new Fault('storage-unavailable', refusal, { cause });
}

/** A value that cannot be stored is a bug, not a failure of the database. */
function bound<T>(parameters: readonly unknown[], work: (values: SQLInputValue[]) => T): T {
  const values = parameters.map(bindable);
  return guarded(() => work(values));
}

function bindable(value: unknown): SQLInputValue {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (value === null || typeof value === 'string' || typeof value === 'bigint' || value instanceof Uint8Array)
    return value;
  throw new Error(`a ${typeof value} cannot be stored`);
}

/** A failure of the database is a retryable refusal; its text is not exposed. */
function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Fault('storage-unavailable', refusal, { cause: error });
  }
}
