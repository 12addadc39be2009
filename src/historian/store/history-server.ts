/**
 * Recorded history in a PostgreSQL server: reads in one snapshot, writes under the history's one write lock, fenced by the
 * epoch of the leader. Queries are those of the embedded engine (`HistoryQuery`), compiled for this one.
 */
import { Kysely } from 'kysely';
import { Fault } from '../../base/fault.ts';
import {
  connectPostgres,
  migratePostgres,
  openedOnServer,
  type PostgresConnection,
  type PostgresPlace,
} from '../../storage/postgres.ts';
import { type CompiledQuery, compileQuery, type NamedQuery, type Values } from './history-database.ts';
import { type HistoryTables, historySchema } from './schema.ts';

type Rows = readonly (readonly unknown[])[];

export interface HistoryServer {
  ask<N extends string>(connection: PostgresConnection, query: NamedQuery<N>, values: Values<N>): Promise<Rows>;
  /** A connection that sees one state of the history until `end`. A partition that it may read is not dropped. */
  beginRead(idleMs?: number): Promise<PostgresConnection>;
  /** A connection with an error is not used again. */
  endRead(connection: PostgresConnection, sound: boolean): Promise<void>;
  /** All or nothing, one at a time; creates the tables first if there are none. */
  write<T>(work: (connection: PostgresConnection) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function connectHistory(place: PostgresPlace): HistoryServer {
  const server = connectPostgres(place, 'history');
  // Only compiles: execution goes through connections of its own.
  const compiler = new Kysely<HistoryTables>({ dialect: server.dialect });
  let prepared: Promise<void> | undefined;
  const ready = (): Promise<void> => {
    prepared ??= migratePostgres(place, 'history', historySchema.server).catch((error: unknown) => {
      prepared = undefined;
      throw error;
    });
    return prepared;
  };
  const compiled = new Map<unknown, CompiledQuery<string>>();
  return {
    async ask(connection, query, values) {
      const known = compiled.get(query) ?? compileQuery(compiler, query.names, query.build);
      compiled.set(query, known);
      const { text, columns, bound } = known;
      if (query.byColumn !== true) return (await connection.cells(text, bound(values), query.name)).rows;
      const { rows } = await connection.cells(byColumn(text, columns), bound(values), query.name);
      return rowsOf(rows[0] ?? []);
    },
    async beginRead(idleMs) {
      const connection = await server.connect();
      try {
        const idle = idleMs === undefined ? '' : `SET LOCAL idle_in_transaction_session_timeout TO ${idleMs};`;
        // The locks come before the snapshot, which begins with the first query.
        await connection.run(
          `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${idle}
            LOCK TABLE ONLY sample, ONLY rollup IN ACCESS SHARE MODE; SELECT 1`,
        );
        return connection;
      } catch (error) {
        connection.release(true);
        throw error;
      }
    },
    async endRead(connection, sound) {
      if (sound) await connection.run('COMMIT').catch(() => (sound = false));
      connection.release(!sound);
    },
    async write(work) {
      await ready();
      const connection = await server.connect();
      let done = false;
      try {
        await connection.run('begin');
        const result = await work(connection);
        await refuseFormer(connection, place);
        await connection.run('COMMIT');
        done = true;
        return result;
      } finally {
        connection.release(!done);
      }
    },
    close: () => server.close(),
  };
}

/**
 * A query of numbers, each column as the bytes of its doubles in row order: parsing rows takes this process ten times
 * as long. NULL is NaN, which no table contains.
 */
function byColumn(query: string, columns: number): string {
  const names = Array.from({ length: columns }, (_, index) => `c${index}`);
  const bytes = names.map(
    (name) => `string_agg(coalesce(float8send(${name}::double precision), '\\x7ff8000000000000'), '')`,
  );
  return `SELECT ${bytes.join(', ')} FROM (${query}) AS each_row(${names.join(', ')})`;
}

const doubleBytes = 8;

/** The rows from columns of bytes; NULL columns have no rows. */
function rowsOf(columns: readonly unknown[]): Rows {
  const buffers = columns.filter((column) => Buffer.isBuffer(column));
  const count = (buffers[0]?.length ?? 0) / doubleBytes;
  return Array.from({ length: count }, (_, row) =>
    buffers.map((buffer) => {
      const value = buffer.readDoubleBE(row * doubleBytes);
      return Number.isNaN(value) ? null : value;
    }),
  );
}

/**
 * Undoes the writes of a process that no longer controls the site. The epoch is locked for the moment of the commit only: the
 * lease is renewed in the same row.
 */
async function refuseFormer({ run }: PostgresConnection, { epoch }: PostgresPlace): Promise<void> {
  if (epoch === undefined) return;
  const [row] = await run('SELECT epoch FROM engine_lease FOR SHARE');
  if (Number(row?.['epoch']) !== epoch)
    throw new Fault('storage-unavailable', 'the history is recorded by another process now');
}

/** Creates or upgrades the tables; throws one line for the operator. */
export function prepareHistory(place: PostgresPlace): Promise<void> {
  return openedOnServer('history', () => migratePostgres(place, 'history', historySchema.server));
}

/** A column of many rows as one parameter, for `unnest`. */
export function arrayOf(values: readonly (number | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join()}}`;
}
