/** The messages between the main thread and the historian thread; live values go through shared memory. */

import type { LogLevel } from '../base/log.ts';
import { quality } from '../site/quality.ts';
import type { DatabasePlace } from '../storage/database.ts';
import type { AppendReport, HistoryRow, SeriesId } from './historian.ts';
import type { RecorderCounts, RecorderSetup } from './recorder.ts';

/** Numbers of one series, by time; typed arrays because they cross threads in bulk. */
export interface HistoryColumns {
  readonly series: SeriesId;
  readonly eventMs: Float64Array;
  /** NaN where there was none. */
  readonly values: Float64Array;
}

/** From a reader, which waits until `untilMs` (monotonic) and then continues without unstored rows. */
export interface SettleRequest {
  readonly series: readonly SeriesId[];
  readonly untilMs: number;
}

export type RecorderMethods = {
  /** Stores values as if they had been recorded at their observation. */
  readonly append: (columns: readonly HistoryColumns[]) => AppendReport;
  /** Stores the rows of the series recorded before the call; false if that failed or took too long. */
  readonly settle: (request: SettleRequest) => boolean;
  readonly counts: (argument: null) => RecorderCounts;
  /** Whether to store pending rows. */
  readonly stop: (store: boolean) => RecorderEnd;
  /** Spools unstored rows, one file per call, which bounds the time of a call; returns the number of rows left. */
  readonly keep: (argument: null) => number;
};

export interface RecorderEnd {
  readonly counts: RecorderCounts;
  /** Unstored rows, to be spooled. */
  readonly left: number;
}

export interface RecorderWorkerData {
  readonly setup: RecorderSetup;
  readonly place: DatabasePlace;
  /** Folder of the journal for pending rows; null: rows are stored at once. */
  readonly journalFolder: string | null;
  /** Folder of the spool; null if it would be on the same disk as the store. */
  readonly spoolFolder: string | null;
  readonly logLevel: LogLevel;
}

export interface Recording {
  append(columns: readonly HistoryColumns[]): Promise<AppendReport>;
  /** Stores the rows of these series recorded before the call; false if that failed or took longer than `settle_timeout_ms`. */
  settle(series: readonly SeriesId[]): Promise<boolean>;
  counts(): Promise<RecorderCounts>;
  /** Stores pending rows and continues with the current points of the site. */
  renew(): Promise<void>;
  /** With `store`, pending rows are stored first; the rest stays in the journal, on a shared site in the spool. Returns final counts. */
  stop(store: boolean): Promise<RecorderCounts>;
}

export function packedRows(columns: readonly HistoryColumns[]): HistoryRow[] {
  return columns.flatMap(({ series, eventMs, values }) =>
    Array.from(eventMs, (atMs, index): HistoryRow => {
      const value = values[index] ?? Number.NaN;
      const missing = Number.isNaN(value);
      return {
        series,
        eventMs: atMs,
        ingestedMs: atMs,
        value: missing ? null : value,
        quality: missing ? quality.missing : quality.good,
      };
    }),
  );
}
