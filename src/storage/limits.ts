/** Fixed limits of the embedded engine, of spool files and of migrations. */

/** A file of the embedded engine, whose write lock another process may hold. */
export const fileLimits = {
  /** Maximum time for which a statement may block its thread. */
  busy_timeout_ms: 20,
  /** Pause before the next attempt to begin a transaction, in which the thread does other work. */
  begin_retry_ms: 30,
  /** Time limit for the start of a transaction; then it is refused. */
  begin_deadline_ms: 5000,
  /** Deadline of a statement in a separate thread. */
  answer_deadline_ms: 10_000,
} as const;

/** Spool files (`spool.ts`). Rows have some hundred to some thousand bytes. */
export interface SpoolLimits {
  /** Rows that are written or read per turn of the event loop, and stored in one transaction. */
  readonly turn_rows: number;
  /** Bytes per turn, unless a single row has more: a few milliseconds of JSON. */
  readonly turn_bytes: number;
  /** A longer line is invalid. */
  readonly line_bytes: number;
  /** Rows per file: stored files are removed one by one, and a file is written well within a call's deadline. */
  readonly file_rows: number;
  /** A file is closed at this number of bytes. */
  readonly file_bytes: number;
}

export const spoolLimits: SpoolLimits = {
  turn_rows: 1000,
  turn_bytes: 262_144,
  line_bytes: 67_108_864,
  file_rows: 20_000,
  file_bytes: 8_388_608,
};

/** Statements over all of a site's data on a server: a move, an upgrade, a verification. */
export const wholeSiteLimits = {
  /** A large table is indexed, counted or synced in one statement. */
  statement_timeout_ms: 3_600_000,
} as const;
