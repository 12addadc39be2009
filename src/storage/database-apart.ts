/**
 * A database file whose statements run in a separate thread, so that a slow disk does not block this thread's other
 * work: the query layer's side. There is one connection. If the thread crashes, its open transaction is lost;
 * from then on everything is refused, because later statements would no longer belong to that transaction.
 */
import { Worker } from 'node:worker_threads';
import {
  CompiledQuery as Compiled,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { type Clock, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { callThread, threadMemory } from '../base/thread.ts';
import { fileLimits } from './limits.ts';
import { type BoundStatement, lockedFault } from './sqlite.ts';

export interface DatabaseWorkerData {
  readonly file: string;
}

interface Answer {
  readonly rows: unknown[];
  readonly changes?: bigint;
  readonly lastId?: bigint;
}

interface Locked {
  readonly isLocked: true;
}

export type DatabaseMethods = {
  readonly run: (statement: BoundStatement) => Answer | Locked;
  /** A batch that has not started by then, on the clock shared by all threads, is dropped: its caller has given up. */
  readonly batch: (question: {
    readonly statements: readonly BoundStatement[];
    readonly untilMs: number;
  }) => { readonly changed: readonly number[] | null } | Locked;
  /** The last call. */
  readonly close: (question: null) => null;
};

export interface DatabaseThread {
  readonly dialect: Dialect;
  /** Call it while holding the connection, with no transaction open. */
  batch(statements: readonly BoundStatement[]): Promise<readonly number[] | null>;
  close(): Promise<void>;
}

export function openDatabaseThread(
  file: string,
  clock: Clock,
  log: Log,
  deadlineMs: number = fileLimits.answer_deadline_ms,
): DatabaseThread {
  const worker = new Worker(new URL('./database-thread.ts', import.meta.url), {
    workerData: { file } satisfies DatabaseWorkerData,
    name: 'database',
    resourceLimits: threadMemory,
  });
  const late = (): Fault => new Fault('storage-unavailable', 'the storage did not answer in time; try again');
  const caller = callThread<DatabaseMethods, never>(worker, clock, deadlineMs, late);
  let closing = false;
  let reason = 'the thread ended';
  worker.on('error', (error) => {
    reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  });
  worker.on('exit', () => {
    caller.close(new Fault('storage-unavailable', 'the storage no longer responds'));
    if (!closing) log.error('database thread failed; restart the service', { reason });
  });

  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      const { rows, changes, lastId } = unlocked(await caller.call('run', { sql, parameters }));
      return {
        // The query layer knows the row type of its own statement.
        rows: rows as Row[],
        ...(changes === undefined ? {} : { numAffectedRows: changes }),
        ...(lastId === undefined ? {} : { insertId: lastId }),
      };
    },
    streamQuery() {
      throw new Error('rows of another thread are not read one by one');
    },
  };
  const run = async (sql: string): Promise<void> => void (await connection.executeQuery(Compiled.raw(sql)));
  const driver: Driver = {
    init: () => Promise.resolve(),
    acquireConnection: () => Promise.resolve(connection),
    async beginTransaction() {
      try {
        await run('begin');
      } catch (error) {
        // A late one may have started after all. The thread runs this before any later statement.
        run('rollback').catch(() => undefined);
        throw error;
      }
    },
    commitTransaction: () => run('commit'),
    rollbackTransaction: () => run('rollback'),
    releaseConnection: () => Promise.resolve(),
    destroy: () => Promise.resolve(),
  };
  return {
    dialect: {
      createDriver: () => driver,
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (database) => new SqliteIntrospector(database),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    async batch(statements) {
      const untilMs = systemClock.monotonicMs() + deadlineMs;
      // A compiled query also holds its syntax tree, which costs more to copy than the statement to run.
      const bound = statements.map(({ sql, parameters }) => ({ sql, parameters }));
      return unlocked(await caller.call('batch', { statements: bound, untilMs })).changed;
    },
    async close() {
      closing = true;
      await caller.call('close', null).catch((error: unknown) => {
        log.warn('database thread did not close its file', { error: String(error) });
      });
      await worker.terminate();
    },
  };
}

function unlocked<T extends object>(answer: T | Locked): T {
  if ('isLocked' in answer) throw lockedFault();
  return answer;
}
