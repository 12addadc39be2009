/** Limits of everything that this service asks elsewhere over HTTP [processor §6.3]. */

export const outboundLimits = {
  /** All headers of one answer. */
  answerHeaderBytes: 16_384,
  /** Addresses that a name may resolve to. */
  addressesMax: 32,
} as const;
