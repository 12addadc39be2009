/**
 * PostgreSQL under the query layer: a bounded pool behind Kysely's own dialect. It behaves as the embedded engine does:
 * a transaction takes the one write lock of its database when it begins, so that processes wait for each other and never
 * deadlock; numbers are returned as numbers; a failure of the server is a retryable refusal. A broken connection is
 * discarded; the next query opens a new one.
 */
import { PostgresDialect, type PostgresPool, type PostgresPoolClient, type PostgresQueryResult } from 'kysely';
import pg from 'pg';
import { Fault } from '../base/fault.ts';
import { shownValidity, type Validity } from '../base/validity.ts';
import { wholeSiteLimits } from './limits.ts';
import type { StorageLimits } from './server-limits.ts';

/** A server, and the schema in it that holds a site's tables. */
export interface PostgresPlace {
  readonly url: string;
  readonly limits: StorageLimits;
  /** For the leader: writes with an older epoch are refused. */
  readonly epoch?: number;
}

/** Name of a write lock: changes under the same name wait for each other. */
export type LockName = 'site' | 'runtime' | 'history' | 'forecasts' | 'migration' | 'engine' | 'process';

const oldestVersion = 140_000;
/** First half of every advisory lock's key; the second half is the hash of schema and lock name. */
const lockClass = 1_936_029_808;
/** If the server does not answer, a statement ends on this side that much later than on the server. */
const unansweredMs = 1000;
/** A connection is probed after this idle time, so that a long statement does not wait for a server that is gone. */
const keepAliveMs = 10_000;

export interface PostgresServer {
  readonly dialect: PostgresDialect;
  /** A connection for exclusive use, until it is released. */
  connect(): Promise<PostgresConnection>;
  /** Of the certificate that the server showed last; null without one. */
  certificate(): Validity | null;
  close(): Promise<void>;
}

export interface PostgresConnection {
  /** Without parameters, `text` may contain several statements. */
  run(text: string, parameters?: readonly unknown[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Rows as arrays, in the order of the columns; a named statement is planned once. */
  cells(
    text: string,
    parameters: readonly unknown[],
    name?: string,
  ): Promise<{ readonly rows: readonly (readonly unknown[])[]; readonly changed: number }>;
  /** Called for each notification on a channel with `LISTEN`; with `null` once the connection is lost. */
  onNotification(listener: (payload: string | null) => void): void;
  /** With `destroy`, its open transaction is rolled back. */
  release(destroy: boolean): void;
}

/** SQL that takes a lock until the end of the transaction. */
export function takeLock(schema: string, name: LockName): string {
  return `SELECT pg_advisory_xact_lock(${lockKey(schema, name)})`;
}

/** SQL that takes a lock together with others, until the end of the session. */
export function shareLock(schema: string, name: LockName): string {
  return `SELECT pg_advisory_lock_shared(${lockKey(schema, name)})`;
}

/** SQL that terminates the session that holds a lock. */
export function endHolder(schema: string, name: LockName): string {
  return `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE ${isHeld(schema, name)}`;
}

/** The last word of the name of a process that only answers requests, and cannot control. */
export const answersOnly = 'api';

/** Condition on `pg_locks`: someone holds this lock. */
export function isHeld(schema: string, name: LockName): string {
  return `locktype = 'advisory' AND granted AND objsubid = 2
    AND classid::bigint = ${lockClass} AND objid::bigint = hashtext('${schema}:${name}')::bigint & 4294967295
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
}

/** The two halves of an advisory lock's key. */
export function lockKey(schema: string, name: LockName): string {
  return `${lockClass}, hashtext('${schema}:${name}')`;
}

export function connectPostgres(place: PostgresPlace, lock: LockName): PostgresServer {
  const { limits } = place;
  const pool = new pg.Pool({ ...connectionOf(place), max: limits.connections_max });
  // A broken idle connection leaves the pool by itself.
  pool.on('error', () => undefined);
  let certificate: Validity | null = null;
  pool.on('connect', (client) => {
    // The library's types leave out the socket.
    const { connection } = client as { readonly connection?: { readonly stream?: unknown } };
    certificate = shownValidity(connection?.stream);
  });
  const begin = `BEGIN; ${takeLock(limits.postgres_schema, lock)}`;
  const prepared = new WeakSet<object>();

  const acquire = async (): Promise<{ raw: pg.PoolClient; client: WrappedClient }> => {
    const client = await guarded(() => pool.connect());
    const wrapped = { raw: client, client: wrap(client, begin) };
    if (prepared.has(client)) return wrapped;
    prepared.add(client);
    // Without a listener a broken connection in use would end the process; the query fails anyway.
    client.on('error', () => undefined);
    try {
      await wrapped.client.query(settingsOf(limits), []);
    } catch (error) {
      wrapped.client.release(true);
      throw error;
    }
    return wrapped;
  };
  const wrappedPool: PostgresPool = {
    connect: async () => (await acquire()).client,
    end: () => pool.end(),
    options: {},
  };
  return {
    dialect: new PostgresDialect({ pool: wrappedPool }),
    async connect() {
      const { raw, client } = await acquire();
      return {
        run: async (text, parameters = []) =>
          (await client.query<Readonly<Record<string, unknown>>>(text, parameters)).rows,
        cells: (text, parameters, name) => client.cells(text, parameters, name),
        onNotification(listener) {
          raw.on('notification', ({ payload }) => listener(payload ?? ''));
          raw.on('end', () => listener(null));
        },
        release: (destroy) => client.release(destroy),
      };
    },
    certificate: () => certificate,
    async close() {
      if (!pool.ended) await pool.end();
    },
  };
}

/** The connection settings of this place. */
function connectionOf({ url, limits }: PostgresPlace): pg.ClientConfig {
  return {
    connectionString: url,
    connectionTimeoutMillis: limits.connect_timeout_ms,
    query_timeout: limits.statement_timeout_ms + unansweredMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    application_name: 'setpoint',
    types: { getTypeParser: typeParser },
  };
}

function settingsOf(limits: StorageLimits): string {
  return [
    // Temporary tables come last in the search path: they must not shadow ours, in triggers least of all.
    `SET search_path TO ${limits.postgres_schema}, pg_temp`,
    `SET statement_timeout TO ${limits.statement_timeout_ms}`,
    `SET lock_timeout TO ${limits.lock_timeout_ms}`,
    `SET idle_in_transaction_session_timeout TO ${limits.idle_transaction_timeout_ms}`,
    // An answer means that the commit is on disk.
    `SET synchronous_commit TO on`,
  ].join(';');
}

interface WrappedClient extends PostgresPoolClient {
  readonly cells: PostgresConnection['cells'];
}

function wrap(client: pg.PoolClient, begin: string): WrappedClient {
  let broken = false;
  const cells: WrappedClient['cells'] = async (text, parameters, name) => {
    const values = parameters.map(bindable);
    try {
      const named = name === undefined ? {} : { name };
      const { rows, rowCount } = await client.query<unknown[]>({ text, values, rowMode: 'array', ...named });
      return { rows, changed: rowCount ?? 0 };
    } catch (error) {
      if (!isAnswer(error)) broken = true;
      throw refusalOf(error);
    }
  };
  const query = async <R>(text: unknown, parameters: readonly unknown[] = []): Promise<PostgresQueryResult<R>> => {
    if (typeof text !== 'string') throw new Error('cursors are not used');
    const values = parameters.map(bindable);
    try {
      // Without parameters, the protocol allows several statements in one message and answers each.
      const answer: unknown = await (text === 'begin'
        ? client.query(begin)
        : values.length === 0
          ? client.query(text)
          : client.query(text, values));
      return (Array.isArray(answer) ? answer.at(-1) : answer) as PostgresQueryResult<R>;
    } catch (error) {
      if (!isAnswer(error)) broken = true;
      // If BEGIN fails here, the query layer assumes no transaction; the server has started it all the same.
      if (text === 'begin' && !broken) await client.query('ROLLBACK').catch(() => (broken = true));
      throw refusalOf(error);
    }
  };
  return {
    query: query as PostgresPoolClient['query'],
    cells,
    release: (destroy) => client.release(broken || destroy === true),
  };
}

/** Whether the server itself answered with an error: the connection is then still usable. */
function isAnswer(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code !== undefined && !/^(08|57P|25P03)/.test(error.code);
}

/** Characters that SQLite can store and PostgreSQL cannot. */
const unstorable = new Set(['22021', '22P05']);

function refusalOf(error: unknown): Fault {
  if (error instanceof pg.DatabaseError && unstorable.has(error.code ?? ''))
    return new Fault('invalid-input', 'a text contains a character that cannot be stored', { cause: error });
  return new Fault('storage-unavailable', 'the storage cannot take the request now; try again', { cause: error });
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw refusalOf(error);
  }
}

function bindable(value: unknown): unknown {
  if (['number', 'string', 'bigint'].includes(typeof value) || value === null || value instanceof Uint8Array)
    return value;
  throw new Error(`a ${typeof value} cannot be stored`);
}

const int8 = 20;

function typeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (oid === int8) return wholeNumber;
  const parse: unknown = pg.types.getTypeParser(oid, format ?? 'text');
  if (typeof parse !== 'function') throw new Error(`type ${oid} has no parser`);
  return (text): unknown => Reflect.apply(parse, undefined, [text]);
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error('a stored integer is beyond 2^53');
  return value;
}

/** Creates the schema and applies the missing steps, in one transaction with long deadlines. */
export async function migratePostgres(
  place: PostgresPlace,
  name: 'site' | 'runtime' | 'history' | 'forecasts',
  steps: readonly string[],
): Promise<void> {
  const server = connectPostgres(unhurried(place), name);
  let connection: PostgresConnection | undefined;
  try {
    connection = await server.connect();
    await applySteps(connection, place.limits, name, steps);
  } finally {
    connection?.release(true);
    await server.close();
  }
}

/** Does `work` on a database; a failure of the server becomes one line for the operator. */
export async function openedOnServer<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const reason = error.cause instanceof Error ? error.cause.message : 'it does not answer';
    throw new Error(`the ${name} database cannot be opened: ${reason}`, { cause: error });
  }
}

/** The place with long deadlines, for statements over all of a site. */
export function unhurried(place: PostgresPlace): PostgresPlace {
  return { ...place, limits: { ...place.limits, ...wholeSiteLimits } };
}

async function applySteps(
  { run }: PostgresConnection,
  limits: StorageLimits,
  name: string,
  steps: readonly string[],
): Promise<void> {
  const what = `the ${name} database`;
  const [facts] = await run(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding`,
  );
  if (Number(facts?.['version']) < oldestVersion)
    throw new Error(`${what}: PostgreSQL ${oldestVersion / 10_000} or newer is needed`);
  if (facts?.['encoding'] !== 'UTF8') throw new Error(`${what}: its encoding must be UTF8`);
  await run(`BEGIN; ${takeLock(limits.postgres_schema, 'migration')}`);
  await run(`CREATE SCHEMA IF NOT EXISTS ${limits.postgres_schema};
    CREATE TABLE IF NOT EXISTS data_format (name text PRIMARY KEY, version integer NOT NULL)`);
  const [row] = await run('SELECT version FROM data_format WHERE name = $1', [name]);
  const version = Number(row?.['version'] ?? 0);
  if (version > steps.length) {
    throw new Error(
      `${what} has data format ${version}; this program supports ${steps.length}: use the newer program, or restore a backup`,
    );
  }
  for (const step of steps.slice(version)) await run(step);
  if (version < steps.length)
    await run('INSERT INTO data_format VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET version = excluded.version', [
      name,
      steps.length,
    ]);
  await run('COMMIT');
}
