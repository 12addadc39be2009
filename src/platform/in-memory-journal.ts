/**
 * Receipts, audit events and outgoing events of an in-memory store. `append` is one synchronous step: it first decides
 * and copies, which may fail, then adds everything, which cannot. A database does the same in one transaction.
 */
import type { AuditEntry } from '../audit/event.ts';
import type { Scope } from './call-context.ts';
import { frozenCopy } from './freeze.ts';
import type { Journal, OutgoingEvent, Receipt } from './journal.ts';

export interface InMemoryJournal<Result, Data> {
  receipt(scope: Scope, idempotencyKey: string): Receipt<Result> | null;
  /** False, and nothing is added, when the key has a receipt. */
  append(journal: Journal<Result, Data>): boolean;
  recordRefusal(scope: Scope, entry: AuditEntry): void;
  readonly audit: readonly { readonly scope: Scope; readonly entry: AuditEntry }[];
  readonly events: readonly OutgoingEvent<Data>[];
}

export function createInMemoryJournal<Result, Data>(): InMemoryJournal<Result, Data> {
  const receipts = new Map<string, Receipt<Result>>();
  const audit: { readonly scope: Scope; readonly entry: AuditEntry }[] = [];
  const events: OutgoingEvent<Data>[] = [];
  const keyOf = (scope: Scope, key: string): string => JSON.stringify([scope.tenantId, scope.projectId, key]);
  return {
    audit,
    events,
    receipt: (scope, idempotencyKey) => receipts.get(keyOf(scope, idempotencyKey)) ?? null,
    append(journal) {
      const kept = frozenCopy(journal);
      const { scope, idempotencyKey } = kept.receipt;
      const key = keyOf(scope, idempotencyKey);
      if (receipts.has(key)) return false;
      receipts.set(key, kept.receipt);
      audit.push({ scope, entry: kept.audit });
      events.push(kept.event);
      return true;
    },
    recordRefusal(scope, entry) {
      audit.push(frozenCopy({ scope, entry }));
    },
  };
}
