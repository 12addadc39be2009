/**
 * The history database, synchronously: a window of tens of thousands of rows is read in one go, without a promise per row.
 * Queries are built by the same query layer as everywhere else, compiled once, and run with values bound by
 * name.
 */
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { type Compilable, type Expression, Kysely, type RawBuilder, SelectQueryNode, SqliteDialect, sql } from 'kysely';
import { migrate, openSqlite, queryable } from '../../storage/sqlite.ts';
import { type HistoryTables, historySchema } from './schema.ts';

type Cell = SQLOutputValue | undefined;
type Rows = readonly (readonly Cell[])[];
export type Values<N extends string> = Readonly<Record<N, number | null>>;
/** Values to be stored. */
type Stored<N extends string> = Readonly<Record<N, number | Uint8Array | null>>;
export type Places<N extends string> = Readonly<Record<N, RawBuilder<number>>>;

/** A query with placeholders for named values; the same for both engines. */
export type HistoryQuery<N extends string> = (query: HistoryQueries, at: Places<N>) => Compilable;
export type HistoryQueries = Kysely<HistoryTables>;

/** A query that both engines use; each compiles it once. */
export interface NamedQuery<N extends string> {
  /** On a server: of the prepared statement. */
  readonly name: string;
  readonly names: readonly N[];
  readonly build: HistoryQuery<N>;
  /** Whether a server answers by column, which pays with few columns and thousands of rows. */
  readonly byColumn?: boolean;
}

/** The one value that a query returns, in place of a known value. */
export function answerOf(query: Expression<unknown>): RawBuilder<number> {
  return sql<number>`(${query})`;
}

/** A query compiled once. Rows come as arrays in the order of the selected columns: objects cost five times as much. */
interface CompiledStatement<N extends string> {
  all(values: Values<N>): Rows;
  /** Returns how many rows changed. */
  run(values: Stored<N>): number;
}

export interface HistoryDatabase {
  statement<N extends string>(names: readonly N[], build: HistoryQuery<N>): CompiledStatement<N>;
  /** Rows of a query that is compiled on first use. */
  ask<N extends string>(query: NamedQuery<N>, values: Values<N>): Rows;
  /** All or nothing; takes the write lock at once. */
  transaction<T>(work: () => T): T;
  /** Fixes the state that the following reads see, until `endRead`. */
  beginRead(): void;
  endRead(): void;
  /** False when the file was removed or replaced since it was opened. */
  isCurrent(): boolean;
  close(): void;
}

/** Creates the file if it does not exist. Waits up to `lockWaitMs` for a lock of another process. */
export function openHistoryWriter(file: string, lockWaitMs: number): HistoryDatabase {
  const sqlite = openSqlite(file, 'normal');
  try {
    sqlite.exec(`PRAGMA busy_timeout = ${Math.floor(lockWaitMs)}`);
    migrate(sqlite, historySchema.file, 'the history database');
    return wrap(sqlite, file);
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

/** Throws if there is no file, or not one of this format. */
export function openHistoryReader(file: string, lockWaitMs: number): HistoryDatabase {
  if (!existsSync(file)) throw new Error('no history database');
  const sqlite = new DatabaseSync(file, { readOnly: true, timeout: Math.floor(lockWaitMs) });
  try {
    const version = Number(sqlite.prepare('PRAGMA user_version').get()?.['user_version']);
    if (version !== historySchema.file.length) throw new Error(`the history database has data format ${version}`);
    return wrap(sqlite, file);
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

function wrap(sqlite: DatabaseSync, file: string): HistoryDatabase {
  // Only compiles: execution goes through the statements below.
  const query = new Kysely<HistoryTables>({ dialect: new SqliteDialect({ database: queryable(sqlite) }) });
  const openedAs = identityOf(file);
  const firstRead = sqlite.prepare('SELECT id FROM series LIMIT 1');
  const asked = new Map<unknown, CompiledStatement<string>>();
  return {
    statement: (names, build) => compile(sqlite, query, names, build),
    ask(named, values) {
      const statement = asked.get(named) ?? compile(sqlite, query, named.names, named.build);
      asked.set(named, statement);
      return statement.all(values);
    },
    transaction(work) {
      sqlite.exec('BEGIN IMMEDIATE');
      try {
        const result = work();
        sqlite.exec('COMMIT');
        return result;
      } catch (error) {
        // A full disk has rolled back already.
        if (sqlite.isTransaction) sqlite.exec('ROLLBACK');
        throw error;
      }
    },
    beginRead() {
      sqlite.exec('BEGIN');
      // The snapshot begins with the first read.
      firstRead.get();
    },
    endRead: () => sqlite.exec('COMMIT'),
    isCurrent: () => openedAs !== null && identityOf(file) === openedAs,
    close: () => sqlite.close(),
  };
}

function identityOf(file: string): string | null {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.dev}:${stat.ino}`;
}

/** The placeholder of a named value in a query. */
class Place {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

function compile<N extends string>(
  sqlite: DatabaseSync,
  query: Kysely<HistoryTables>,
  names: readonly N[],
  build: HistoryQuery<N>,
): CompiledStatement<N> {
  const { text, bound } = compileQuery(query, names, build);
  const statement = sqlite.prepare(text);
  statement.setReturnArrays(true);
  return {
    all: (values) => statement.all(...bound(values)) as unknown as SQLOutputValue[][],
    run: (values) => Number(statement.run(...bound(values)).changes),
  };
}

export interface CompiledQuery<N extends string> {
  readonly text: string;
  /** How many columns its rows have. */
  readonly columns: number;
  /** The parameters of `text`, in their order. */
  bound<V extends number | Uint8Array | null>(values: Readonly<Record<N, V>>): (V | number | string | null)[];
}

export function compileQuery<N extends string>(
  query: Kysely<HistoryTables>,
  names: readonly N[],
  build: HistoryQuery<N>,
): CompiledQuery<N> {
  const at: Partial<Record<N, RawBuilder<number>>> = {};
  for (const name of names) at[name] = sql<number>`${new Place(name)}`;
  const compiled = build(query, at as Places<N>).compile();
  const slots = compiled.parameters.map((parameter) =>
    parameter instanceof Place ? parameter.name : constant(parameter),
  );
  return {
    text: compiled.sql,
    columns: SelectQueryNode.is(compiled.query) ? (compiled.query.selections?.length ?? 0) : 0,
    bound: (values) => slots.map((slot) => (typeof slot === 'string' ? (values[slot as N] ?? null) : slot.value)),
  };
}

function constant(parameter: unknown): { readonly value: number | string } {
  if (typeof parameter === 'number' || typeof parameter === 'string') return { value: parameter };
  throw new Error(`a ${typeof parameter} cannot stand in a query`);
}
