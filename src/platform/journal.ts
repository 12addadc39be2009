/**
 * The journal of a command besides its aggregate: a receipt for late retries, an audit event and an outgoing event. A store takes
 * all of them in one commit or none.
 */
import type { AuditEntry } from '../audit/event.ts';
import type { CallSubject, Scope } from './call-context.ts';

/** The answer to a retry with the same key, and the identity by which the request is recognised. */
export interface Receipt<Result> {
  readonly scope: Scope;
  readonly idempotencyKey: string;
  readonly subject: CallSubject;
  /** SHA-256 of the command's name and input in canonical form. */
  readonly requestDigest: string;
  readonly result: Result;
}

/** For relays to external systems, at least once, in commit order. */
export interface OutgoingEvent<Data> {
  readonly eventId: string;
  readonly type: string;
  readonly scope: Scope;
  readonly occurredAt: string;
  readonly data: Data;
}

export interface Journal<Result, Data> {
  readonly receipt: Receipt<Result>;
  readonly audit: AuditEntry;
  readonly event: OutgoingEvent<Data>;
}

/** Refusals change nothing else, so their audit event is written alone. */
export interface RefusalRecord {
  recordRefusal(scope: Scope, entry: AuditEntry): Promise<void>;
}
