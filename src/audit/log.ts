/**
 * The append-only audit log (§1.2 of decisions, §3 "Sequence"). The one writer of the audit tables. Appends that arrive
 * together share one durable transaction; each scope has one gap-free sequence, allocated in commit order under the
 * database's write lock, so that several processes on one site keep it too.
 */
import { canonicalJson } from '../base/canonical-json.ts';
import type { Clock } from '../base/clock.ts';
import { sha256Hex } from '../base/digest.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { AuditEntry, AuditScope } from './event.ts';

export interface AuditLimits {
  /** Appends that may wait for the next commit. */
  readonly waiting_appends_max: number;
  /** Events in one transaction. */
  readonly batch_max: number;
}

export const auditLimits: AuditLimits = { waiting_appends_max: 10_000, batch_max: 500 };

export interface Appended {
  readonly eventId: string;
  readonly sequence: number;
}

export interface AuditLog {
  /** Resolves when the event is on disk; refuses with `audit-unavailable` when it is not. */
  append(entry: AuditEntry): Promise<Appended>;
  /** Appends inside the caller's transaction: the event and the change are one. */
  appendWithin(within: Transaction, entry: AuditEntry): Promise<Appended>;
  /** Closes accepted events that a crash left open, as `unknown`; returns how many. */
  closeDangling(): Promise<number>;
}

interface Waiting {
  readonly entry: AuditEntry;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (fault: Fault) => void;
}

export function createAuditLog(parts: {
  database: Database;
  clock: Clock;
  scope: AuditScope;
  limits?: AuditLimits;
}): AuditLog {
  const { database, clock, scope, limits = auditLimits } = parts;
  const waiting: Waiting[] = [];
  let flushing = false;

  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, limits.batch_max);
      try {
        const entries = batch.map(({ entry }) => entry);
        const appended = await database.transaction((within) => insert(within, scope, entries, clock.wallMs()));
        batch.forEach((item, index) => item.resolve(resultAt(appended, index)));
      } catch (error) {
        for (const item of batch) item.reject(unavailable(error));
      }
    }
    flushing = false;
  };

  return {
    append(entry) {
      return new Promise((resolve, reject) => {
        if (waiting.length >= limits.waiting_appends_max) {
          reject(unavailable(new Error('too many appends are waiting')));
          return;
        }
        waiting.push({ entry, resolve, reject });
        if (flushing) return;
        flushing = true;
        // After pending input was read: calls that arrived together share one commit.
        clock.soon(() => void flush());
      });
    },
    async appendWithin(within, entry) {
      return resultAt(await insert(within, scope, [entry], clock.wallMs()), 0);
    },
    closeDangling: () => closeDangling(database, scope, clock),
  };
}

function resultAt(appended: readonly Appended[], index: number): Appended {
  const result = appended[index];
  if (result === undefined) throw new Error('an append has no result');
  return result;
}

function unavailable(cause: unknown): Fault {
  return new Fault('audit-unavailable', 'the audit record could not be written; nothing was done, try again', {
    cause,
  });
}

async function insert(
  within: Transaction,
  scope: AuditScope,
  entries: readonly AuditEntry[],
  wallMs: number,
): Promise<Appended[]> {
  const { tenantId: tenant_id, projectId: project_id } = scope;
  const head = await within
    .selectFrom('audit_head')
    .select('sequence')
    .where('tenant_id', '=', tenant_id)
    .where('project_id', '=', project_id)
    .executeTakeFirst();
  const first = (head?.sequence ?? 0) + 1;
  const occurredAt = new Date(wallMs).toISOString();
  const results: Appended[] = [];
  for (const [index, entry] of entries.entries()) {
    const appended = { eventId: newId(), sequence: first + index };
    const details = entry.details === undefined ? null : canonicalJson(entry.details);
    await within
      .insertInto('audit_event')
      .values(rowOf(scope, entry, appended, occurredAt, details))
      .execute();
    if (details !== null) {
      await within
        .insertInto('audit_details')
        .values({ tenant_id, project_id, sequence: appended.sequence, details })
        .execute();
    }
    results.push(appended);
  }
  await within
    .insertInto('audit_head')
    .values({ tenant_id, project_id, sequence: first + entries.length - 1 })
    .onConflict((on) =>
      on.columns(['tenant_id', 'project_id']).doUpdateSet((set) => ({ sequence: set.ref('excluded.sequence') })),
    )
    .execute();
  return results;
}

function rowOf(scope: AuditScope, entry: AuditEntry, appended: Appended, occurredAt: string, details: string | null) {
  return {
    tenant_id: scope.tenantId,
    project_id: scope.projectId,
    sequence: appended.sequence,
    event_id: appended.eventId,
    occurred_at: occurredAt,
    subject_kind: entry.subject.kind,
    subject_id: entry.subject.subjectId,
    action: entry.action,
    resource_kind: entry.resource.kind,
    resource_id: entry.resource.resourceId,
    outcome: entry.outcome,
    risk: entry.risk,
    confirmation: entry.confirmation,
    correlation_id: entry.correlationId,
    trace_id: entry.traceId ?? null,
    details_digest: details === null ? null : sha256Hex(details),
    accepted_event_id: entry.acceptedEventId ?? null,
  };
}

async function closeDangling(database: Database, scope: AuditScope, clock: Clock): Promise<number> {
  return database.transaction(async (within) => {
    const open = await within
      .selectFrom('audit_event as accepted')
      .leftJoin('audit_event as closing', 'closing.accepted_event_id', 'accepted.event_id')
      .selectAll('accepted')
      .where('accepted.tenant_id', '=', scope.tenantId)
      .where('accepted.project_id', '=', scope.projectId)
      .where('accepted.outcome', '=', 'accepted')
      .where('closing.event_id', 'is', null)
      .orderBy('accepted.sequence')
      .execute();
    if (open.length === 0) return 0;
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
    await insert(within, scope, entries, clock.wallMs());
    return open.length;
  });
}
