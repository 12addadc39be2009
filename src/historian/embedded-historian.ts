/**
 * A historian over one SQLite file [data-processing §4.2]. Each read and each append is done in one go, before its promise is
 * there: what it costs is what SQLite takes. Nothing is opened before it is needed and nothing that failed is
 * kept: a store that is missing, locked or broken makes one call fail, and the next one tries anew. Each snapshot has a
 * connection of its own.
 */
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { inTurns } from '../base/turns.ts';
import { createExporter, type Exporter, exportPortionRows } from './export.ts';
import type { Historian, HistoryRow, HistorySnapshot } from './historian.ts';
import type { HistoryLimits } from './limits.ts';
import { type HistoryDatabase, openHistoryReader, openHistoryWriter } from './store/history-database.ts';
import { createSeriesStore, type SeriesStore } from './store/series-store.ts';
import { createWindowReader, type ReadOptions, type WindowReader } from './window.ts';

interface ReadConnection {
  readonly database: HistoryDatabase;
  readonly windows: WindowReader;
  readonly exporter: Exporter;
}

interface WriteConnection {
  readonly database: HistoryDatabase;
  readonly store: SeriesStore;
}

/** Connections that are kept for the next snapshot. */
const idleMax = 4;

export function embeddedHistorian(
  file: string,
  limits: Pick<HistoryLimits, 'lock_wait_ms' | 'snapshots_max'>,
  options: ReadOptions,
): Historian {
  const idle: ReadConnection[] = [];
  let open = 0;
  let writer: WriteConnection | undefined;
  let closed = false;

  const connect = (): ReadConnection => {
    for (let known = idle.pop(); known !== undefined; known = idle.pop()) {
      if (known.database.isCurrent()) return known;
      known.database.close();
    }
    const database = openHistoryReader(file, limits.lock_wait_ms);
    return {
      database,
      windows: createWindowReader(database, options),
      exporter: createExporter(database),
    };
  };
  const begin = (): ReadConnection => {
    if (closed) throw storeUnavailable(new Error('the historian is closed'));
    if (open >= limits.snapshots_max) throw storeUnavailable(new Error('too many snapshots are open'));
    let connection: ReadConnection | undefined;
    try {
      connection = connect();
      connection.database.beginRead();
    } catch (error) {
      connection?.database.close();
      throw storeUnavailable(error);
    }
    open++;
    return connection;
  };
  /** A connection on which something failed is not used again. */
  const end = (connection: ReadConnection, sound: boolean): void => {
    open--;
    try {
      connection.database.endRead();
      if (sound && !closed && idle.length < idleMax) {
        idle.push(connection);
        return;
      }
    } catch {
      // The reason was told where it failed.
    }
    connection.database.close();
  };

  const writing = (): SeriesStore => {
    if (closed) throw new Fault('storage-unavailable', 'the history store is closed');
    if (writer !== undefined && !writer.database.isCurrent()) dropWriter();
    if (writer === undefined) {
      const database = openHistoryWriter(file, limits.lock_wait_ms);
      writer = { database, store: createSeriesStore(database) };
    }
    return writer.store;
  };
  const dropWriter = (): void => {
    writer?.database.close();
    writer = undefined;
  };
  const write = <T>(work: (store: SeriesStore) => T): T => {
    let store: SeriesStore | undefined;
    try {
      store = writing();
      return work(store);
    } catch (error) {
      dropWriter();
      // What cannot be opened says so in many ways; once it is open, only the database's own errors are trouble.
      if (store !== undefined && !isStorageTrouble(error)) throw error;
      throw new Fault('storage-unavailable', 'cannot store the rows now; try again', { cause: error });
    }
  };

  return {
    snapshot: async () => snapshotOn(begin(), end),
    append: async (rows, options = {}) => write((store) => store.append(rows, options)),
    delete: async (request) => write((store) => store.delete(request)),
    prune: async (beforeMs, rowsMax) => write((store) => store.prune(beforeMs, rowsMax)),
    async *export(request) {
      const connection = begin();
      let sound = false;
      try {
        yield* portions(guarded(connection.exporter.rows(request)));
        sound = true;
      } finally {
        end(connection, sound);
      }
    },
    async close() {
      closed = true;
      dropWriter();
      for (const connection of idle.splice(0)) connection.database.close();
    },
  };
}

function* portions(rows: IterableIterator<HistoryRow>): IterableIterator<readonly HistoryRow[]> {
  let portion: HistoryRow[] = [];
  for (const row of rows) {
    portion.push(row);
    if (portion.length < exportPortionRows) continue;
    yield portion;
    portion = [];
  }
  if (portion.length > 0) yield portion;
}

function snapshotOn(
  connection: ReadConnection,
  end: (connection: ReadConnection, sound: boolean) => void,
): HistorySnapshot {
  let state: 'open' | 'broken' | 'closed' = 'open';
  return {
    async window(request, signal) {
      if (state === 'closed') throw new Error('the snapshot is closed');
      signal?.throwIfAborted();
      try {
        return await inTurns(systemClock, connection.windows.window(request), signal);
      } catch (error) {
        if (!isStorageTrouble(error)) throw error;
        state = 'broken';
        throw storeUnavailable(error);
      }
    },
    async close() {
      if (state === 'closed') return;
      const sound = state === 'open';
      state = 'closed';
      end(connection, sound);
    },
  };
}

function* guarded<T>(rows: IterableIterator<T>): IterableIterator<T> {
  try {
    yield* rows;
  } catch (error) {
    throw isStorageTrouble(error) ? storeUnavailable(error) : error;
  }
}

/** Errors of SQLite carry its result code; any other is a bug of ours. */
function isStorageTrouble(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error;
}

export function storeUnavailable(cause: unknown): Fault {
  return new Fault('source-unavailable', 'the history store cannot be read now; try again', { cause });
}
