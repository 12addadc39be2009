/**
 * The one way into a chain [audit §6]: finds its head under the database's write lock, numbers
 * and hashes the new events behind it, stores them with their details. Several processes on one site therefore share one
 * gap-free sequence.
 */
import { canonicalSteps } from '../../base/canonical-json.ts';
import { sha256Steps } from '../../base/digest.ts';
import { newId } from '../../base/id.ts';
import { atOnce, type Steps } from '../../base/turns.ts';
import type { Transaction } from '../../storage/database.ts';
import { type AuditEntry, type AuditScope, isRecordable } from '../event.ts';
import { type AuditLogName, type ChainOwner, chainedEventOf, chainHash, chainStart } from './chain.ts';

export interface Appended {
  readonly eventId: string;
  readonly sequence: number;
  /** Of the event in its chain: 64 lowercase hexadecimal digits. */
  readonly hash: string;
}

export interface ChainHead {
  readonly chainId: number;
  readonly sequence: number;
  readonly hash: string;
  readonly occurredAt: string;
  readonly era: number;
  readonly closedThrough: number;
}

/** An entry that can be stored: checked, its details as the canonical text that is hashed. */
export interface PreparedEntry {
  readonly entry: AuditEntry;
  readonly details: string | null;
  readonly detailsDigest: string | null;
}

/** Throws for an entry that is malformed: before it meets others in one transaction. */
export function prepareEntry(entry: AuditEntry): PreparedEntry {
  return atOnce(prepareSteps(entry));
}

/** As `prepareEntry`, in steps: the details of a large rule are some megabytes. */
export function* prepareSteps(entry: AuditEntry): Steps<PreparedEntry> {
  if (!isRecordable(entry)) throw new Error('the audit entry is malformed');
  if (entry.details === undefined) return { entry, details: null, detailsDigest: null };
  const details = yield* canonicalSteps(entry.details);
  yield;
  const detailsDigest = yield* sha256Steps(details);
  return { entry, details, detailsDigest };
}

/** Rows of one INSERT statement: few sizes, so that their statements stay prepared. */
const rowsPerStatement = [64, 16, 4, 1] as const;

export async function appendToChain(
  transaction: Transaction,
  log: AuditLogName,
  scope: AuditScope,
  entries: readonly PreparedEntry[],
  wallMs: number,
): Promise<Appended[]> {
  const owner = { log, tenantId: scope.tenantId, projectId: scope.projectId };
  const head = (await chainHead(transaction, owner)) ?? (await beginChain(transaction, owner));
  const occurredAt = new Date(wallMs).toISOString();
  const era = occurredAt < head.occurredAt ? head.era + 1 : head.era;
  const rows = [];
  const details = [];
  let previous = head.hash;
  for (const [index, prepared] of entries.entries()) {
    const sequence = head.sequence + 1 + index;
    const row = rowOf(owner, head.chainId, prepared, { sequence, occurredAt, era, previous });
    rows.push(row);
    previous = row.hash;
    if (prepared.details !== null) details.push({ chain_id: head.chainId, sequence, details: prepared.details });
  }
  for (const part of parts(rows)) await transaction.insertInto('audit_event').values(part).execute();
  for (const part of parts(details)) await transaction.insertInto('audit_details').values(part).execute();
  return rows.map((row) => ({ eventId: row.event_id, sequence: row.sequence, hash: row.hash }));
}

/** Null when nothing was ever recorded for this owner. */
export async function chainHead(
  transaction: Pick<Transaction, 'selectFrom'>,
  owner: ChainOwner,
): Promise<ChainHead | null> {
  const row = await transaction
    .selectFrom('audit_chain')
    .selectAll()
    .where('log', '=', owner.log)
    .where('tenant_id', '=', owner.tenantId)
    .where('project_id', '=', owner.projectId)
    .executeTakeFirst();
  if (row === undefined) return null;
  const { chain_id: chainId, sequence, hash, occurred_at: occurredAt, era, closed_through: closedThrough } = row;
  return { chainId, sequence, hash, occurredAt, era, closedThrough };
}

async function beginChain(transaction: Transaction, owner: ChainOwner): Promise<ChainHead> {
  const { log, tenantId: tenant_id, projectId: project_id } = owner;
  await transaction
    .insertInto('audit_chain')
    .values({ log, tenant_id, project_id, sequence: 0, hash: chainStart, occurred_at: '', era: 0, closed_through: 0 })
    .execute();
  const head = await chainHead(transaction, owner);
  if (head === null) throw new Error('a chain that was begun is not there');
  return head;
}

interface Place {
  readonly sequence: number;
  readonly occurredAt: string;
  readonly era: number;
  readonly previous: string;
}

function rowOf(owner: ChainOwner, chainId: number, { entry, detailsDigest }: PreparedEntry, place: Place) {
  const row = {
    chain_id: chainId,
    sequence: place.sequence,
    event_id: newId(),
    occurred_at: place.occurredAt,
    era: place.era,
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
    details_digest: detailsDigest,
    accepted_event_id: entry.acceptedEventId ?? null,
    previous_hash: place.previous,
  };
  return { ...row, hash: chainHash(owner, chainedEventOf(row)) };
}

function* parts<T>(rows: readonly T[]): Generator<T[]> {
  let from = 0;
  for (const size of rowsPerStatement) {
    for (; rows.length - from >= size; from += size) yield rows.slice(from, from + size);
  }
}
