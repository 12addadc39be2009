/**
 * The append-only audit logs [platform §3], [audit §6]: the events that the query answers from, and the access log of the
 * searches themselves. Appends that arrive together share one durable transaction. The one writer of the audit tables is
 * `chain-store.ts`, which both use.
 */
import type { Clock } from '../base/clock.ts';
import { Fault, type FaultCode } from '../base/fault.ts';
import { inTurns } from '../base/turns.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { AuditEntry, AuditScope } from './event.ts';
import { type AuditLimits, auditLimits } from './limits.ts';
import type { AuditLogName } from './store/chain.ts';
import {
  type Appended,
  appendToChain,
  chainHead,
  type PreparedEntry,
  prepareEntry,
  prepareSteps,
} from './store/chain-store.ts';

export interface AuditLog {
  /** Resolves when the event is on disk; refuses with `audit-unavailable` when it is not. */
  append(entry: AuditEntry): Promise<Appended>;
  /** Appends inside the caller's transaction: the event and the change are one. */
  appendIn(transaction: Transaction, entry: AuditEntry): Promise<Appended>;
  /**
   * Closes accepted events that a crash left open, as `unknown`; returns how many. Those that are younger may still be at
   * work in another process, and stay.
   */
  closeDangling(olderThanMs?: number): Promise<number>;
}

/** Who searched what; kept in the scope that was searched, outside what a search can see. */
export interface AccessLog {
  /** Resolves when the record is on disk; refuses with `storage-unavailable` when it is not. */
  record(scope: AuditScope, entry: AuditEntry): Promise<void>;
}

export interface AuditLogParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly limits?: AuditLimits;
  /** Told after each commit how many events it held. */
  readonly onAppended?: (events: number) => void;
}

export function createAuditLog(parts: AuditLogParts & { readonly scope: AuditScope }): AuditLog {
  const { database, clock, scope, onAppended } = parts;
  const queue = createQueue(parts, 'events', 'audit-unavailable');
  return {
    append: (entry) => queue(scope, entry),
    async appendIn(transaction, entry) {
      const [appended] = await appendToChain(transaction, 'events', scope, [prepareEntry(entry)], clock.wallMs());
      onAppended?.(1);
      return present(appended);
    },
    async closeDangling(olderThanMs = 0) {
      const closed = await closeDangling(database, scope, clock, olderThanMs);
      onAppended?.(closed);
      return closed;
    },
  };
}

export function createAccessLog(parts: AuditLogParts): AccessLog {
  const queue = createQueue(parts, 'access', 'storage-unavailable');
  return { record: async (scope, entry) => void (await queue(scope, entry)) };
}

interface Waiting {
  readonly scope: AuditScope;
  readonly prepared: PreparedEntry;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (fault: Fault) => void;
}

function createQueue(parts: AuditLogParts, log: AuditLogName, refusal: FaultCode) {
  const { database, clock, limits = auditLimits, onAppended } = parts;
  const waiting: Waiting[] = [];
  let flushing = false;
  /** Appends whose details are being written out. */
  let preparing = 0;

  const store = (batch: readonly Waiting[]): Promise<ReadonlyMap<Waiting, Appended>> =>
    database.transaction(async (transaction) => {
      // Inside the transaction: behind whatever another process committed before.
      const wallMs = clock.wallMs();
      const results = new Map<Waiting, Appended>();
      for (const items of byScope(batch)) {
        const entries = items.map((item) => item.prepared);
        const appended = await appendToChain(transaction, log, present(items[0]).scope, entries, wallMs);
        items.forEach((item, index) => results.set(item, present(appended[index])));
      }
      return results;
    });

  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, limits.batch_max);
      try {
        const results = await store(batch);
        for (const item of batch) item.resolve(present(results.get(item)));
        onAppended?.(batch.length);
      } catch (error) {
        for (const item of batch) item.reject(unavailable(refusal, error));
      }
    }
    flushing = false;
  };

  return async (scope: AuditScope, entry: AuditEntry): Promise<Appended> => {
    if (waiting.length + preparing >= limits.waiting_appends_max)
      throw unavailable(refusal, new Error('too many appends are waiting'));
    preparing++;
    const prepared = await inTurns(clock, prepareSteps(entry))
      .catch((error: unknown) => {
        throw unavailable(refusal, error);
      })
      .finally(() => preparing--);
    return new Promise((resolve, reject) => {
      waiting.push({ scope, prepared, resolve, reject });
      if (flushing) return;
      flushing = true;
      // After pending input was read: calls that arrived together share one commit.
      clock.soon(() => void flush());
    });
  };
}

/** The items of each scope, in their order. */
function byScope(batch: readonly Waiting[]): Waiting[][] {
  const groups = new Map<string, Waiting[]>();
  for (const item of batch) {
    const key = JSON.stringify([item.scope.tenantId, item.scope.projectId]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('an append has no result');
  return value;
}

function unavailable(code: FaultCode, cause: unknown): Fault {
  return new Fault(code, 'the audit record could not be written; nothing was done, try again', { cause });
}

async function closeDangling(
  database: Database,
  scope: AuditScope,
  clock: Clock,
  olderThanMs: number,
): Promise<number> {
  return database.transaction(async (transaction) => {
    const head = await chainHead(transaction, { log: 'events', ...scope });
    if (head === null) return 0;
    const bound = new Date(clock.wallMs() - olderThanMs).toISOString();
    const all = await transaction
      .selectFrom('audit_event as accepted')
      .leftJoin('audit_event as closing', 'closing.accepted_event_id', 'accepted.event_id')
      .selectAll('accepted')
      .where('accepted.chain_id', '=', head.chainId)
      .where('accepted.sequence', '>', head.closedThrough)
      .where('accepted.outcome', '=', 'accepted')
      .where('closing.event_id', 'is', null)
      .orderBy('accepted.sequence')
      .execute();
    const isYoung = (row: { readonly occurred_at: string }): boolean => olderThanMs > 0 && row.occurred_at > bound;
    const open = all.filter((row) => !isYoung(row));
    const firstYoung = all.find(isYoung);
    const entries = open.map(
      (row): AuditEntry => ({
        subject: { kind: row.subject_kind as AuditEntry['subject']['kind'], subjectId: row.subject_id },
        action: row.action,
        resource: { kind: row.resource_kind, resourceId: row.resource_id },
        outcome: 'unknown',
        risk: row.risk as AuditEntry['risk'],
        confirmation: row.confirmation as AuditEntry['confirmation'],
        correlationId: row.correlation_id,
        ...(row.trace_id === null ? {} : { traceId: row.trace_id }),
        acceptedEventId: row.event_id,
      }),
    );
    if (entries.length > 0)
      await appendToChain(transaction, 'events', scope, entries.map(prepareEntry), clock.wallMs());
    await transaction
      .updateTable('audit_chain')
      .set({ closed_through: firstYoung === undefined ? head.sequence : firstYoung.sequence - 1 })
      .where('chain_id', '=', head.chainId)
      .execute();
    return entries.length;
  });
}
