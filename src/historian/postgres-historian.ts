/**
 * A historian over a PostgreSQL server ([data-processing §4.2], docs/guides/several-machines.md), for every process of a site: a
 * snapshot is one read-only transaction. While the server is unavailable each call fails, and the next one tries again.
 */
import { Fault } from '../base/fault.ts';
import type { PostgresConnection, PostgresPlace } from '../storage/postgres.ts';
import { readExport } from './export.ts';
import type { Historian } from './historian.ts';
import type { HistoryLimits } from './limits.ts';
import { appendRows, deletePortion, pruneEdge, pruneWhole } from './postgres-writer.ts';
import { readReadings } from './readings.ts';
import { historySnapshot, storeUnavailable } from './snapshot.ts';
import { connectHistory, type HistoryServer } from './store/history-server.ts';
import type { ReadOptions } from './window.ts';
import { type WindowSource, windowQueries } from './window-queries.ts';

/** The longest pause between two portions of an export; after that the server may clean up. */
const exportIdleMs = 600_000;

/** Rows per answer, bounded by memory: each portion is a round trip. */
const queries = windowQueries(20_000, false);

export function postgresHistorian(
  place: PostgresPlace,
  limits: Pick<HistoryLimits, 'lock_wait_ms' | 'snapshots_max'>,
  options: ReadOptions,
): Historian {
  const server = connectHistory(place);
  let open = 0;
  let closed = false;

  const begin = async (idleMs?: number): Promise<PostgresConnection> => {
    if (closed) throw storeUnavailable(new Error('the historian is closed'));
    if (open >= limits.snapshots_max) throw storeUnavailable(new Error('too many snapshots are open'));
    open++;
    try {
      return await server.beginRead(idleMs);
    } catch (error) {
      open--;
      throw readTrouble(error);
    }
  };
  const end = async (connection: PostgresConnection, sound: boolean): Promise<void> => {
    open--;
    await server.endRead(connection, sound);
  };
  /** All results of `read`, from one snapshot. */
  async function* reading<T>(read: (source: WindowSource) => AsyncIterable<T>): AsyncIterableIterator<T> {
    const connection = await begin(exportIdleMs);
    let sound = false;
    try {
      yield* read(rowsOf(server, connection));
      sound = true;
    } finally {
      await end(connection, sound);
    }
  }
  const write = <T>(work: (connection: PostgresConnection) => Promise<T>): Promise<T> => {
    if (closed) throw new Fault('storage-unavailable', 'the history store is closed');
    return server.write(work);
  };

  return {
    async snapshot() {
      const connection = await begin();
      return historySnapshot(rowsOf(server, connection), options, (sound) => end(connection, sound));
    },
    append: async (rows, options = {}) => write((connection) => appendRows(connection, rows, options)),
    delete: async (request) => write((connection) => deletePortion(connection, request)),
    async prune(beforeMs, rowsMax) {
      const whole = await write((connection) => pruneWhole(connection, beforeMs, limits.lock_wait_ms)).catch(orInUse);
      return whole > 0 ? whole : write((connection) => pruneEdge(connection, beforeMs, rowsMax));
    },
    export: (request) => reading((source) => readExport(source, request)),
    readings: (request) => reading((source) => readReadings(source, request)),
    async close() {
      closed = true;
      await server.close();
    },
  };
}

function rowsOf(server: HistoryServer, connection: PostgresConnection): WindowSource {
  return {
    queries,
    async ask(query, values) {
      try {
        return await server.ask(connection, query, values);
      } catch (error) {
        throw readTrouble(error);
      }
    },
  };
}

/** A failure of the server; any other error is a bug. */
function readTrouble(error: unknown): unknown {
  return error instanceof Fault && error.code === 'storage-unavailable' ? storeUnavailable(error.cause) : error;
}

const lockNotAvailable = '55P03';

/** A partition that is being read is dropped later. */
function orInUse(error: unknown): number {
  const cause = error instanceof Fault ? error.cause : undefined;
  if (cause instanceof Error && 'code' in cause && cause.code === lockNotAvailable) return 0;
  throw error;
}
