/** What the main thread and the historian thread say to each other; live values come through shared memory. */

import { quality } from '../rules/snapshot.ts';
import type { AppendReport, HistoryRow, SeriesId } from './historian.ts';
import type { RecorderCounts } from './recorder.ts';

/** Numbers of one series, by time; typed arrays because they cross threads in bulk. */
export interface HistoryColumns {
  readonly series: SeriesId;
  readonly eventMs: Float64Array;
  /** NaN where there was none. */
  readonly values: Float64Array;
}

export type RecorderMethods = {
  /** Stores values as if they had been recorded when they were observed. */
  readonly append: (columns: readonly HistoryColumns[]) => AppendReport;
  readonly counts: (argument: null) => RecorderCounts;
  readonly stop: (argument: null) => null;
};

export function rowsOf(columns: readonly HistoryColumns[]): HistoryRow[] {
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
