/**
 * Fault: a refusal with a code of one table. The meaning of the code on the wire (HTTP status, whether a retry can help) is
 * defined only here [platform §2.1]. A bug is not a Fault: it throws a plain Error.
 */

interface FaultKind {
  readonly status: number;
  readonly retryable: boolean;
}

const kind = (status: number, retryable = false): FaultKind => ({ status, retryable });

export const faultKinds = {
  'invalid-input': kind(400),
  unauthenticated: kind(401),
  'permission-denied': kind(403),
  'not-found': kind(404),
  'no-checkpoint': kind(404),
  'task-not-commissioned': kind(404),
  'method-not-allowed': kind(404),
  'request-timeout': kind(408, true),
  'revision-conflict': kind(409),
  'payload-too-large': kind(413),
  'frame-too-large': kind(413),
  'unsupported-media-type': kind(415),
  'expectation-failed': kind(417),
  'invalid-flow': kind(422),
  'invalid-trigger': kind(422),
  'invalid-site': kind(422),
  'invalid-value': kind(422),
  'no-runnable-flow': kind(422),
  'tests-failed': kind(422),
  'too-many-evaluations': kind(422),
  'input-quality-rejected': kind(422),
  'confirmation-required': kind(428),
  'rate-limited': kind(429, true),
  'processor-busy': kind(429, true),
  'backtest-busy': kind(429, true),
  'headers-too-large': kind(431),
  'internal-error': kind(500),
  'not-ready': kind(503, true),
  'result-rejected': kind(502),
  'processor-refused': kind(502),
  'audit-unavailable': kind(503, true),
  'not-covered-yet': kind(503, true),
  'storage-unavailable': kind(503, true),
  'source-unavailable': kind(503, true),
  'engine-unavailable': kind(503, true),
  'provider-unavailable': kind(503, true),
  'processing-unavailable': kind(503, true),
  'deadline-exceeded': kind(504, true),
} as const satisfies Record<string, FaultKind>;

export type FaultCode = keyof typeof faultKinds;

export interface FaultExtra {
  /** Machine-readable particulars; must be free of paths, SQL, stacks and addresses. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryAfterMs?: number;
  /** If this occurrence differs from the default of its code. */
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

export class Fault extends Error {
  readonly code: FaultCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterMs: number | undefined;
  readonly retryable: boolean;

  constructor(code: FaultCode, message: string, extra: FaultExtra = {}) {
    super(message, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.name = 'Fault';
    this.code = code;
    this.details = extra.details;
    this.retryAfterMs = extra.retryAfterMs;
    this.retryable = extra.retryable ?? faultKinds[code].retryable;
  }

  get status(): number {
    return faultKinds[this.code].status;
  }
}
