/**
 * The service's interface to a processor ([processor §2] step 9): one complete request in, untrusted bytes out. Every
 * outcome is a value of `ProcessorAnswer`; no behaviour of a processor is an exception.
 */
import type { ProcessorHealthEntry } from '../../api/processing-discovery.ts';
import type { Rejection } from '../../contract/validate/rejection.ts';
import type { NormalisedRequest } from '../../contract/wire/request-decode.ts';

export type ProcessorAnswer =
  /** Strict JSON of the right media type; `validateResult` decides whether it answers the request. */
  | { readonly outcome: 'answered'; readonly message: unknown }
  /** An invalid answer. */
  | { readonly outcome: 'rejected'; readonly rejection: Rejection }
  /** A typed refusal of the request (4xx except 429). */
  | { readonly outcome: 'refused'; readonly status: number; readonly code: string }
  | Unavailability
  /** The call ended at a deadline, here or there. */
  | { readonly outcome: 'timeout' }
  /** The request is larger than the route allows; nothing was sent. */
  | { readonly outcome: 'oversized' };

export interface Unavailability {
  readonly outcome: 'unavailable';
  /** A code of this service or of the processor. */
  readonly reason: string;
  readonly retryable: boolean;
  /** Null without advice. */
  readonly retryAfterSeconds: number | null;
}

export interface ProcessorCondition {
  readonly health: ProcessorHealthEntry['health'];
  /** Null if the processor did not answer. */
  readonly latencyMs: number | null;
}

/**
 * Awaited after all local checks, before the first byte is sent; if it throws, the call ends, and
 * nothing is sent.
 */
export type Leaving = () => Promise<void>;

export interface Processor {
  readonly id: string;
  /** `signal` ends the call: with a TimeoutError at the deadline, with any other reason if the caller cancelled. */
  process(request: NormalisedRequest, signal: AbortSignal, leaving?: Leaving): Promise<ProcessorAnswer>;
  health(signal: AbortSignal): Promise<ProcessorCondition>;
}

export function unavailable(
  reason: string,
  advice: { readonly retryable?: boolean; readonly retryAfterSeconds?: number | null } = {},
): Unavailability {
  const { retryable = true, retryAfterSeconds = null } = advice;
  return { outcome: 'unavailable', reason, retryable, retryAfterSeconds: retryable ? retryAfterSeconds : null };
}
