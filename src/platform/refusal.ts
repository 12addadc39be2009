/**
 * Refusals of the application contracts: tagged results, never exceptions. One table defines for each code whether a retry
 * with the same key can help, and its audit outcome: refused, or failed.
 */
import type { AuditOutcome } from '../audit/event.ts';

interface RefusalKind {
  readonly retryable: boolean;
  readonly outcome: Extract<AuditOutcome, 'denied' | 'failed' | 'unknown'>;
}

const denied = { retryable: false, outcome: 'denied' } as const satisfies RefusalKind;
const failed = { retryable: false, outcome: 'failed' } as const satisfies RefusalKind;
const passing = { retryable: true, outcome: 'failed' } as const satisfies RefusalKind;

const refusalKinds = {
  'invalid-input': denied,
  'permission-denied': denied,
  'confirmation-required': denied,
  'idempotency-conflict': denied,
  'command-expired': denied,
  'operation-cancelled': passing,
  'storage-unavailable': passing,
  'cloud-connection-not-found': denied,
  'cloud-connection-disabled': denied,
  'cloud-connection-invalid': failed,
  'provider-adapter-not-registered': failed,
  'provider-adapter-contract-violation': failed,
  'provider-unavailable': passing,
  'deployment-stack-not-found': denied,
  'infrastructure-engine-not-registered': failed,
  'infrastructure-engine-contract-violation': failed,
  'infrastructure-engine-unavailable': passing,
  'infrastructure-engine-busy': passing,
  'policy-unavailable': passing,
  'gateway-already-exists': denied,
  'gateway-not-found': denied,
  'gateway-already-claimed': denied,
  'enrollment-claim-active': denied,
  'concurrent-modification': { retryable: true, outcome: 'denied' },
  'invalid-enrollment-token': denied,
  'enrollment-claim-expired': denied,
} as const satisfies Record<string, RefusalKind>;

export type RefusalCode = keyof typeof refusalKinds;

/** The refused half of every result. Codes of adapters and engines pass through, so the type is a string. */
export interface Refusal {
  readonly ok: false;
  readonly code: string;
  readonly retryable: boolean;
}

/** A refusal of a command with its audit outcome. */
export interface RefusedCommand {
  readonly refusal: Refusal;
  readonly outcome: RefusalKind['outcome'];
}

export function refuseWith(code: RefusalCode): Refusal {
  return Object.freeze({ ok: false, code, retryable: refusalKinds[code].retryable });
}

/** `outcome` is given if the code alone is not enough: a write without an answer may or may not have happened. */
export function refuseCommand(
  code: RefusalCode,
  outcome: RefusalKind['outcome'] = refusalKinds[code].outcome,
): RefusedCommand {
  return { refusal: refuseWith(code), outcome };
}

/** Passes on an engine's own refusal. */
export function failedCommand(code: string, retryable: boolean): RefusedCommand {
  return { refusal: Object.freeze({ ok: false, code, retryable }), outcome: 'failed' };
}

/** Codes with a meaning of their own here, which an engine must not use. */
export function isOwnCode(code: string): boolean {
  return Object.hasOwn(refusalKinds, code);
}
