/** The named limits of a server of the processor protocol [processor §6.5], with unit and default. */

export interface ServerLimits {
  /** Bytes of one request. */
  readonly max_request_bytes: number;
  /** Cells of one frame. */
  readonly max_frame_cells: number;
  /** Concurrent requests; further ones are answered 429. */
  readonly max_concurrency: number;
  /** Concurrent uploads, which limits memory; further ones are answered 429. */
  readonly max_reading: number;
  /** Time for the bytes of one request to arrive. */
  readonly read_timeout_ms: number;
  /** Retry advice in a 429 answer. */
  readonly busy_retry_seconds: number;
}

export const defaultServerLimits: ServerLimits = {
  max_request_bytes: 8_388_608,
  max_frame_cells: 200_000,
  max_concurrency: 2,
  max_reading: 8,
  read_timeout_ms: 10_000,
  busy_retry_seconds: 1,
};

/** Open connections; more are closed at once. */
export const connectionsMax = 256;
/** All headers of one request. */
export const requestHeaderBytes = 16_384;
/** Time for a refused sender to read its answer while the rest of its request is discarded. */
export const lingerMs = 1000;
/** Interval at which a closing server checks for idle connections. */
export const idleSweepMs = 50;
