/** A recorder with its store and its spool: in its thread, and in-process for tests. */
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { noJournal } from '../storage/row-journal.ts';
import type { AppendReport, HistoryRow } from './historian.ts';
import { historySpool } from './history-spool.ts';
import { openHistorian } from './open-historian.ts';
import { type RecorderCounts, startRecorder } from './recorder.ts';
import {
  type HistoryColumns,
  packedRows,
  type RecorderEnd,
  type RecorderWorkerData,
  type SettleRequest,
} from './recorder-protocol.ts';
import { openHistoryJournal, takeStoreRequest } from './waiting-journal.ts';

/** `RecorderMethods`, answered. */
export interface RecorderAt {
  append(columns: readonly HistoryColumns[]): Promise<AppendReport>;
  settle(request: SettleRequest): Promise<boolean>;
  counts(): Promise<RecorderCounts>;
  stop(store: boolean): Promise<RecorderEnd>;
  keep(): Promise<number>;
}

export function startRecorderAt(
  { setup, place, journalFolder, spoolFolder }: RecorderWorkerData,
  clock: Clock,
  log: Log,
): RecorderAt {
  const historian = openHistorian(place, setup.limits);
  const waits =
    journalFolder === null || typeof place !== 'string'
      ? { journal: noJournal, readersSettle: false, isAsked: () => false }
      : {
          journal: openHistoryJournal(journalFolder, place),
          readersSettle: true,
          isAsked: () => takeStoreRequest(journalFolder),
        };
  const recorder = startRecorder(setup, { ...waits, historian, clock, log });
  const spool = spoolFolder === null ? null : historySpool(spoolFolder);
  let left: readonly HistoryRow[] = [];
  let kept = 0;
  return {
    append: (columns) => recorder.append(packedRows(columns)),
    settle: ({ series, untilMs }) => recorder.settle(series, untilMs),
    counts: async () => recorder.counts(),
    async stop(store) {
      left = await recorder.stop(store);
      // A statement may still be running: it is rolled back, or takes effect once.
      void historian.close();
      const counts = recorder.counts();
      if (left.length === 0 || spool !== null) return { counts, left: left.length };
      log.error('history lost: not stored before shutdown', { rows: left.length });
      return { counts: { ...counts, dropped: counts.dropped + left.length }, left: 0 };
    },
    async keep() {
      if (spool === null) throw new Error('this recorder has nowhere to keep rows');
      try {
        kept = await spool.keep(left, kept);
      } catch (error) {
        throw new Fault('storage-unavailable', `cannot write to the data directory: ${String(error)}`, {
          cause: error,
        });
      }
      if (kept === left.length) log.warn('unsaved readings spooled until the database is back', { rows: kept });
      return left.length - kept;
    },
  };
}
