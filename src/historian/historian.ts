/**
 * The historian's interface, for both engines [data-processing §4.2], [points §6.1]:
 * measured values with event and ingestion time, read in windows from one snapshot. Reads throw
 * `Fault('source-unavailable')` when the store is missing or broken, and a later call may recover.
 */
import type { RecordedQuality } from '../site/quality.ts';
import type { Observations } from './observations.ts';

export type SeriesAggregation = 'mean' | 'sum' | 'min' | 'max' | 'last';

/** A recorded measurement point of site.yaml, or the accepted commands of an action point. */
export interface SeriesId {
  readonly instance: number;
  readonly point: number;
  /** A measurement where it is absent. */
  readonly kind?: 'action';
}

export interface SeriesRange {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusive_minimum?: number;
  readonly exclusive_maximum?: number;
  readonly integer?: boolean;
}

/**
 * One feature's window. In this order: rows ingested after `knownAtMs` do not exist, rows from the future are excluded
 * (`skewedRows`), of several rows at one event time the newest counts, numbers outside `range` are excluded
 * (`outOfRangeRows`), and the rest is reduced, each row weighted by the observations that it represents in the label's span.
 */
export interface WindowRequest {
  readonly series: SeriesId;
  /** Labels are asOfMs-(steps-1)*cadenceMs … asOfMs; label t reduces the raw rows in (t-cadenceMs, t]. */
  readonly asOfMs: number;
  readonly cadenceMs: number;
  readonly steps: number;
  /** `trend` returns all values of a trend in `WindowAnswer.trend`; its cells are the means. */
  readonly aggregation: SeriesAggregation | 'trend';
  readonly duplicatePolicy: 'latest' | 'reject';
  /** A row whose event time lies more than this after its ingestion time never participates. */
  readonly maxSourceSkewMs: number;
  /** Raw values outside it are left out and counted. */
  readonly range?: SeriesRange;
  /** Only rows ingested at or before this moment. */
  readonly knownAtMs?: number;
}

/** From the first instant of a kind to the last, both included. */
export interface InstantSpan {
  readonly firstMs: number;
  readonly lastMs: number;
}

export interface WindowAnswer {
  /** One value per label; NaN is missing. */
  readonly cells: Float64Array;
  /** Event time of the newest numeric raw row that participated. */
  readonly watermarkMs: number | null;
  /** Raw rows of the window (known at `knownAtMs`): NULL, duplicate, skewed and out-of-range ones included. */
  readonly rows: number;
  readonly skewedRows: number;
  readonly skewedSpan: InstantSpan | null;
  readonly outOfRangeRows: number;
  readonly outOfRangeSpan: InstantSpan | null;
  /** 1 where a participating row was uncertain. */
  readonly uncertainCells: Uint8Array;
  /**
   * The first event time with more than one row, without skewed rows; null if there is none. Returned under both
   * duplicate policies: with `reject` it is the reason for a refusal, and the cells are those of `latest`.
   */
  readonly firstDuplicateMs: number | null;
  /** Null unless a trend was asked for. */
  readonly trend: TrendCells | null;
}

/** By label; NaN, and 0 observations, where nothing participated. */
export interface TrendCells {
  readonly min: Float64Array;
  readonly max: Float64Array;
  readonly last: Float64Array;
  readonly observations: Float64Array;
}

/** Opens snapshots for a declared purpose: pending rows of these series are stored first. */
export interface HistoryReader {
  /** Throws Fault `source-unavailable` when the store is missing or broken. */
  snapshot(series: readonly SeriesId[]): Promise<HistorySnapshot>;
}

/** One read transaction: every feature of one request sees the same rows. Close it, or the store cannot clean up. */
export interface HistorySnapshot {
  /** Read in short turns; between two of them `signal` ends it with its reason. */
  window(request: WindowRequest, signal?: AbortSignal): Promise<WindowAnswer>;
  close(): Promise<void>;
}

export interface HistoryRow {
  readonly series: SeriesId;
  readonly eventMs: number;
  readonly ingestedMs: number;
  /** Null: the point had no usable value at that moment. */
  readonly value: number | null;
  readonly quality: RecordedQuality;
  /** Its observations, when there are more than one at its event time. Means, sums and counts weigh by it. */
  readonly observations?: Observations;
}

export interface AppendReport {
  /** Rows at event times that already had a row. */
  readonly duplicates: number;
  /** Rows that were already stored (`once`). */
  readonly skipped: number;
}

export interface AppendOptions {
  /**
   * A row that is already stored with the same time, value and quality is skipped: for readings, of which there is one per event
   * time, so that an attempt whose answer was lost can be repeated.
   */
  readonly once?: boolean;
}

export interface ExportRequest {
  readonly series: SeriesId;
  /** Event times in [fromMs, toMs]. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** Only rows ingested at or before this moment: the data known then. */
  readonly knownAtMs?: number;
}

export interface ReadingsRequest {
  readonly series: SeriesId;
  /** Event times in [fromMs, toMs]. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Readings by event time, one per event time: the newest. */
export interface Readings {
  readonly eventMs: Float64Array;
  /** NaN: the point had no usable value at that moment. */
  readonly values: Float64Array;
  /** Codes of `site/quality.ts`. */
  readonly quality: Uint8Array;
}

export interface DeleteRequest {
  readonly series: HistoryRow['series'];
  /** Event times in [fromMs, toMs). */
  readonly fromMs: number;
  readonly toMs: number;
}

export interface DeletedPortion {
  readonly rows: number;
  /** Where the next portion begins; null at the end. */
  readonly nextMs: number | null;
}

export interface Historian {
  /** Throws Fault `source-unavailable` when the store is missing or broken. */
  snapshot(): Promise<HistorySnapshot>;
  /** Stores rows, all or none; of rows with one event time, the one ingested later, else appended later, is the newer. */
  append(rows: readonly HistoryRow[], options?: AppendOptions): Promise<AppendReport>;
  /** All rows by event time, rows with one event time from the oldest to the newest; in portions, from one snapshot. */
  export(request: ExportRequest): AsyncIterableIterator<readonly HistoryRow[]>;
  /** Time, value and quality only, without an object per row; in portions, from one snapshot. */
  readings(request: ReadingsRequest): AsyncIterableIterator<Readings>;
  /** Deletes the first portion of the rows of a span; rollups are right after each one. */
  delete(request: DeleteRequest): Promise<DeletedPortion>;
  /** Removes rows with event times before `beforeMs`, about `rowsMax` of each series at most; returns how many. */
  prune(beforeMs: number, rowsMax: number): Promise<number>;
  close(): Promise<void>;
}
