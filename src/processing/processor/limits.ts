/** Limits of the processor wire [processor §6.5], [processor §6.2]; those of one processor are in its route. */

export const processorLimits = {
  /** Consecutive transport failures that open a processor's breaker. */
  breakerFailures: 5,
  /** Time until an open breaker lets one call try again. */
  breakerOpenMs: 10_000,
  /** Body of an error envelope or of a health answer; longer ones are not read. */
  smallAnswerBytes: 65_536,
  /** Maximum retry advice; later ones are reduced to it: a day. */
  retryAfterSecondsMax: 86_400,
} as const;
