/** Entry of the thread that runs the statements of a database file, one after the other (`database-apart.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { answerCalls } from '../base/thread.ts';
import { trimHeapLater } from '../base/trim-heap.ts';
import type { DatabaseMethods, DatabaseWorkerData } from './database-apart.ts';
import { fileLimits } from './limits.ts';
import { isLocked, openSqlite, runBatch, statementsOf } from './sqlite.ts';

if (parentPort === null) throw new Error('the database thread was started as a program');
trimHeapLater();
const { file } = workerData as DatabaseWorkerData;
const database = openSqlite(file, 'full');
database.exec(`PRAGMA busy_timeout = ${fileLimits.busy_timeout_ms}`);
const prepare = statementsOf(database);

answerCalls<DatabaseMethods>(
  parentPort,
  {
    run: ({ sql, parameters }) =>
      orLocked(() => {
        const statement = prepare(sql);
        if (statement.reader) return { rows: statement.all(parameters) };
        const { changes, lastInsertRowid } = statement.run(parameters);
        return { rows: [], changes: BigInt(changes), lastId: BigInt(lastInsertRowid) };
      }),
    batch: ({ statements, untilMs }) =>
      orLocked(() => ({ changed: systemClock.monotonicMs() < untilMs ? runBatch(prepare, statements) : null })),
    close() {
      database.close();
      return null;
    },
  },
  // A failed statement only affects its caller: the next one may be another's.
  { refuse: (error) => (error instanceof Fault ? error : new Fault('internal-error', String(error))) },
);

function orLocked<T>(work: () => T): T | { readonly isLocked: true } {
  try {
    return work();
  } catch (error) {
    if (isLocked(error)) return { isLocked: true };
    throw error;
  }
}
