/** Limits of a witness [audit §9.6]. */

export const witnessLimits = {
  /** A submission: a checkpoint with its signatures, and a proof. */
  bodyBytes: 65_536,
  /** From the first byte of a request to its last. */
  requestTimeoutMs: 10_000,
  connections: 100,
  /** At the end, for requests in progress. */
  stopGraceMs: 2000,
} as const;
