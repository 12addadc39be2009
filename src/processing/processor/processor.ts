/**
 * A processor as the service sees it ([processor §2] step 9): one complete request goes in, untrusted bytes come back. Every way
 * in which that can end is a value of `ProcessorAnswer`; nothing that a processor does is an exception.
 */
import type { ProcessorHealthEntry } from '../../api/processing-discovery.ts';
import type { Rejection } from '../../contract/validate/rejection.ts';
import type { NormalisedRequest } from '../../contract/wire/request-decode.ts';

export type ProcessorAnswer =
  /** Strict JSON of the right media type; whether it is an answer to the request is for `validateResult` to say. */
  | { readonly outcome: 'answered'; readonly message: unknown }
  /** An answer that cannot be one. */
  | { readonly outcome: 'rejected'; readonly rejection: Rejection }
  /** A typed refusal of the request (4xx but 429). */
  | { readonly outcome: 'refused'; readonly status: number; readonly code: string }
  | Unavailability
  /** A timer ended the call, here or there. */
  | { readonly outcome: 'timeout' }
  /** The request is larger than the route lets out; nothing was sent. */
  | { readonly outcome: 'oversized' };

export interface Unavailability {
  readonly outcome: 'unavailable';
  /** A code of this service or of the processor. */
  readonly reason: string;
  readonly retryable: boolean;
  /** Null when there is no advice. */
  readonly retryAfterSeconds: number | null;
}

export interface ProcessorCondition {
  readonly health: ProcessorHealthEntry['health'];
  /** Null when the processor did not answer. */
  readonly latencyMs: number | null;
}

/**
 * Awaited when nothing here refuses the call any more, before its first byte leaves; what it throws ends the call, and
 * nothing leaves.
 */
export type Leaving = () => Promise<void>;

export interface Processor {
  readonly id: string;
  /** `signal` ends the call: with a TimeoutError at the deadline, with any other reason when nobody waits any more. */
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
