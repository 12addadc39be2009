/** Fixed limits of the embedded engine, of spool files and of migrations. */

/** A file of the embedded engine, whose write lock another process may hold. */
export const fileLimits = {
  /** How long a statement may stand still, and the thread with it. */
  busy_timeout_ms: 20,
  /** Pause before a transaction tries to begin again: other work of the thread is done in it. */
  begin_retry_ms: 30,
  /** Time in which a transaction must have begun; then it is refused. */
  begin_deadline_ms: 5000,
  /** How long a statement may take where a thread of its own carries it out. */
  answer_deadline_ms: 10_000,
} as const;

/** Files of what a database did not take (`spool.ts`). Rows are of some hundred bytes, or of some thousand. */
export interface SpoolLimits {
  /** Rows that are written or read between two turns of the event loop, and stored in one transaction. */
  readonly turn_rows: number;
  /** Bytes of them, unless one row alone has more: what JSON takes a few milliseconds for. */
  readonly turn_bytes: number;
  /** A longer line is not a row of ours. */
  readonly line_bytes: number;
  /** Rows of one file: what is stored is removed a file at a time, and a file is written well within a call's deadline. */
  readonly file_rows: number;
  /** A file that has so many bytes is ended. */
  readonly file_bytes: number;
}

export const spoolLimits: SpoolLimits = {
  turn_rows: 1000,
  turn_bytes: 262_144,
  line_bytes: 67_108_864,
  file_rows: 20_000,
  file_bytes: 8_388_608,
};

/** Statements over everything that a site keeps on a server: a move, a new format, a verification. */
export const wholeSiteLimits = {
  /** A table of years is indexed, counted or made durable in one statement. */
  statement_timeout_ms: 3_600_000,
} as const;
