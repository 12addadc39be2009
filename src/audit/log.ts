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
  ChainWriter,
  type PreparedEntry,
  prepareEntry,
  prepareSteps,
} from './store/chain-store.ts';

export interface AuditLog {
  /** Resolves when the event is on disk; rejects with `audit-unavailable` otherwise. */
  append(entry: AuditEntry): Promise<Appended>;
  /** Appends inside the caller's transaction: the event and the change are committed together. */
  appendIn(transaction: Transaction, entry: AuditEntry): Promise<Appended>;
}

/** Who searched for what; stored in the searched scope, but not visible to searches. */
export interface AccessLog {
  /** Resolves when the record is on disk; rejects with `storage-unavailable` otherwise. */
  record(scope: AuditScope, entry: AuditEntry): Promise<void>;
}

export interface AuditLogParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly limits?: AuditLimits;
  /** Called after each commit with its number of events. */
  readonly onAppended?: (events: number) => void;
}

export function createAuditLog(parts: AuditLogParts & { readonly scope: AuditScope }): AuditLog {
  const { clock, scope, onAppended } = parts;
  const queue = createQueue(parts, 'events', 'audit-unavailable');
  return {
    append: (entry) => queue(scope, entry),
    async appendIn(transaction, entry) {
      const [appended] = await appendToChain(transaction, 'events', scope, [prepareEntry(entry)], clock.wallMs());
      onAppended?.(1);
      return present(appended);
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
  /** Appends whose details are being serialized. */
  let preparing = 0;

  const chains = new ChainWriter(database, log);

  const store = async (batch: readonly Waiting[]): Promise<ReadonlyMap<Waiting, Appended>> => {
    const groups = byScope(batch);
    const entries = groups.map((items) => ({
      scope: present(items[0]).scope,
      entries: items.map(({ prepared }) => prepared),
    }));
    const appended = await chains.append(entries, clock);
    const results = new Map<Waiting, Appended>();
    groups.forEach((items, group) => {
      items.forEach((item, index) => results.set(item, present(appended[group]?.[index])));
    });
    return results;
  };

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
      // After pending input was read: concurrent calls share one commit.
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
