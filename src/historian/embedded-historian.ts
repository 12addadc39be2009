/**
 * A historian over one SQLite file [data-processing §4.2]. Each append is synchronous and done when it returns its promise.
 * Connections open on first use, and a failed connection is discarded: a missing, locked or damaged
 * store makes one call fail, and the next call tries again. Each snapshot has its own
 * connection.
 */
import { Fault } from '../base/fault.ts';
import { readExport } from './export.ts';
import type { Historian } from './historian.ts';
import type { HistoryLimits } from './limits.ts';
import { readReadings } from './readings.ts';
import { historySnapshot, storeUnavailable } from './snapshot.ts';
import { type HistoryDatabase, openHistoryReader, openHistoryWriter } from './store/history-database.ts';
import { createSeriesStore, type SeriesStore } from './store/series-store.ts';
import type { ReadOptions } from './window.ts';
import { type WindowQueries, type WindowSource, windowQueries } from './window-queries.ts';

interface WriteConnection {
  readonly database: HistoryDatabase;
  readonly store: SeriesStore;
}

/** Idle connections for the next snapshots. */
const idleMax = 4;
/** All rows of a portion at once: one by one they cost twice as much. A portion takes a few milliseconds of a turn. */
const portion = 1024;
const withBlocks = windowQueries(portion, true);
const withoutBlocks = windowQueries(portion, false);

export function embeddedHistorian(
  file: string,
  limits: Pick<HistoryLimits, 'lock_wait_ms' | 'snapshots_max'>,
  options: ReadOptions,
): Historian {
  const queries = options.useBlocks ? withBlocks : withoutBlocks;
  const idle: HistoryDatabase[] = [];
  let open = 0;
  let writer: WriteConnection | undefined;
  let closed = false;

  const connect = (): HistoryDatabase => {
    for (let known = idle.pop(); known !== undefined; known = idle.pop()) {
      if (known.isCurrent()) return known;
      known.close();
    }
    return openHistoryReader(file, limits.lock_wait_ms);
  };
  const begin = (): HistoryDatabase => {
    if (closed) throw storeUnavailable(new Error('the historian is closed'));
    if (open >= limits.snapshots_max) throw storeUnavailable(new Error('too many snapshots are open'));
    let database: HistoryDatabase | undefined;
    try {
      database = connect();
      database.beginRead();
    } catch (error) {
      database?.close();
      throw storeUnavailable(error);
    }
    open++;
    return database;
  };
  /** A connection with an error is not used again. */
  const end = (database: HistoryDatabase, sound: boolean): void => {
    open--;
    try {
      database.endRead();
      if (sound && !closed && idle.length < idleMax) {
        idle.push(database);
        return;
      }
    } catch {
      // The error was reported where it occurred.
    }
    database.close();
  };

  /** All results of `read`, from one snapshot. */
  async function* reading<T>(read: (source: WindowSource) => AsyncIterable<T>): AsyncIterableIterator<T> {
    const database = begin();
    let sound = false;
    try {
      yield* read(rowsOf(database, queries));
      sound = true;
    } finally {
      end(database, sound);
    }
  }

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
      // Opening fails with many kinds of errors; afterwards only the database's own errors mean that the store is unavailable.
      if (store !== undefined && !isStorageTrouble(error)) throw error;
      throw new Fault('storage-unavailable', 'cannot store the rows now; try again', { cause: error });
    }
  };

  return {
    async snapshot() {
      const database = begin();
      return historySnapshot(rowsOf(database, queries), options, (sound) => end(database, sound));
    },
    append: async (rows, options = {}) => write((store) => store.append(rows, options)),
    delete: async (request) => write((store) => store.delete(request)),
    prune: async (beforeMs, rowsMax) => write((store) => store.prune(beforeMs, rowsMax)),
    export: (request) => reading((source) => readExport(source, request)),
    readings: (request) => reading((source) => readReadings(source, request)),
    async close() {
      closed = true;
      dropWriter();
      for (const database of idle.splice(0)) database.close();
    },
  };
}

function rowsOf(database: HistoryDatabase, queries: WindowQueries): WindowSource {
  return {
    queries,
    ask(query, values) {
      try {
        return database.ask(query, values);
      } catch (error) {
        throw readTrouble(error);
      }
    },
  };
}

function readTrouble(error: unknown): unknown {
  return isStorageTrouble(error) ? storeUnavailable(error) : error;
}

/** SQLite errors carry a result code; any other error is a bug. */
function isStorageTrouble(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error;
}
