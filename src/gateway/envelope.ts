/** The one error envelope of every application route and every failure [platform §2.1]. */
import { Fault } from '../base/fault.ts';

export interface ErrorEnvelope {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly correlationId: string;
    readonly retryable?: boolean;
    readonly retryAfterMs?: number;
    readonly details?: Readonly<Record<string, unknown>>;
  };
}

export function envelopeOf(fault: Fault, correlationId: string): ErrorEnvelope {
  return {
    error: {
      code: fault.code,
      message: fault.message,
      correlationId,
      ...(fault.retryable ? { retryable: true } : {}),
      ...(fault.retryAfterMs === undefined ? {} : { retryAfterMs: fault.retryAfterMs }),
      ...(fault.details === undefined ? {} : { details: fault.details }),
    },
  };
}

/** The only refusal for a missing, invalid, expired or used credential [identity §1]. */
export function unauthenticated(): Fault {
  return new Fault('unauthenticated', 'valid credentials are required');
}

/** Headers of a refusal: how to authenticate, when to retry. */
export function refusalHeaders(fault: Fault): Record<string, string> {
  const headers: Record<string, string> = {};
  if (fault.status === 401) headers['www-authenticate'] = 'Bearer';
  if (fault.retryAfterMs !== undefined)
    headers['retry-after'] = String(Math.max(1, Math.ceil(fault.retryAfterMs / 1000)));
  return headers;
}

/** The caller's view of an error: a Fault unchanged, anything else as an internal error without details. */
export function faultOf(error: unknown): Fault {
  return error instanceof Fault
    ? error
    : new Fault('internal-error', 'internal error; find this correlation id in the log', {
        cause: error,
      });
}
