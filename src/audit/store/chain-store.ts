/**
 * The only writer of a chain [audit §6]: finds its head under the database's write lock, numbers
 * and hashes the new events after it, and stores them with their details. Several processes on one site therefore share one
 * gap-free sequence.
 */
import type { Compilable } from 'kysely';
import { canonicalSteps } from '../../base/canonical-json.ts';
import type { Clock } from '../../base/clock.ts';
import { sha256Steps } from '../../base/digest.ts';
import { newId } from '../../base/id.ts';
import { atOnce, type Steps } from '../../base/turns.ts';
import type { Database, Transaction } from '../../storage/database.ts';
import type { BoundStatement } from '../../storage/sqlite.ts';
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

/** An entry that can be stored: validated, with its details as the canonical text that is hashed. */
export interface PreparedEntry {
  readonly entry: AuditEntry;
  readonly details: string | null;
  readonly detailsDigest: string | null;
}

/** Throws for an invalid entry, before it shares a transaction with others. */
export function prepareEntry(entry: AuditEntry): PreparedEntry {
  return atOnce(prepareSteps(entry));
}

/** As `prepareEntry`, in steps: the details of a large rule are several megabytes. */
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
  return (await appendBehind(transaction, ownerOf(log, scope), entries, wallMs)).appended;
}

/** Entries of one scope, in their order. */
export interface EntriesOf {
  readonly scope: AuditScope;
  readonly entries: readonly PreparedEntry[];
}

/** Maximum number of cached heads; beyond it the cache is cleared. */
export const headsKept = 100;

/**
 * Appends to the chains of a log, and caches their heads: as long as no one else appends, all of an append is one batch. If the
 * cached head is outdated, the triggers refuse the batch; then the head is read, as for an unknown chain.
 */
export class ChainWriter {
  readonly #database;
  readonly #log;
  readonly #heads = new Map<string, ChainHead>();
  /** Of insert statements, by table and number of rows. */
  readonly #texts = new Map<string, string>();

  constructor(database: Database, log: AuditLogName) {
    this.#database = database;
    this.#log = log;
  }

  /** All or nothing, on disk; results in the order of the entries. */
  async append(groups: readonly EntriesOf[], clock: Pick<Clock, 'wallMs'>): Promise<readonly (readonly Appended[])[]> {
    const additions = (await this.#behindKnown(groups, clock.wallMs())) ?? (await this.#behindRead(groups, clock));
    if (this.#heads.size >= headsKept) this.#heads.clear();
    groups.forEach(({ scope }, index) => {
      const head = additions[index]?.head;
      if (head !== undefined) this.#heads.set(keyOf(scope), head);
    });
    return additions.map(({ appended }) => appended);
  }

  /** Null if a head is unknown, or outdated. */
  async #behindKnown(groups: readonly EntriesOf[], wallMs: number): Promise<readonly Addition[] | null> {
    const { batch } = this.#database;
    if (batch === null) return null;
    const additions: Addition[] = [];
    for (const { scope, entries } of groups) {
      const head = this.#heads.get(keyOf(scope));
      if (head === undefined) return null;
      additions.push(behind(ownerOf(this.#log, scope), head, entries, wallMs));
    }
    // If it fails, it is unknown whether it is stored.
    for (const { scope } of groups) this.#heads.delete(keyOf(scope));
    const stored = await batch(additions.flatMap((addition) => this.#statements(addition)));
    return stored === null ? null : additions;
  }

  #behindRead(groups: readonly EntriesOf[], clock: Pick<Clock, 'wallMs'>): Promise<readonly Addition[]> {
    return this.#database.transaction(async (transaction) => {
      // Inside the transaction: after events that other processes committed before.
      const wallMs = clock.wallMs();
      const additions: Addition[] = [];
      for (const { scope, entries } of groups)
        additions.push(await appendBehind(transaction, ownerOf(this.#log, scope), entries, wallMs));
      return additions;
    });
  }

  #statements({ rows, details }: Addition): BoundStatement[] {
    const { query } = this.#database;
    return [
      ...[...parts(rows)].map((part) =>
        this.#statement('event', part, () => query.insertInto('audit_event').values(part)),
      ),
      ...[...parts(details)].map((part) =>
        this.#statement('details', part, () => query.insertInto('audit_details').values(part)),
      ),
    ];
  }

  /** Compiling the SQL costs more than running it. */
  #statement(table: string, rows: readonly object[], insert: () => Compilable): BoundStatement {
    const name = `${table} ${rows.length}`;
    const sql = this.#texts.get(name) ?? insert().compile().sql;
    this.#texts.set(name, sql);
    return { sql, parameters: rows.flatMap((row): unknown[] => Object.values(row)) };
  }
}

async function appendBehind(
  transaction: Transaction,
  owner: ChainOwner,
  entries: readonly PreparedEntry[],
  wallMs: number,
): Promise<Addition> {
  const head = (await chainHead(transaction, owner)) ?? (await beginChain(transaction, owner));
  const addition = behind(owner, head, entries, wallMs);
  for (const part of parts(addition.rows)) await transaction.insertInto('audit_event').values(part).execute();
  for (const part of parts(addition.details)) await transaction.insertInto('audit_details').values(part).execute();
  return addition;
}

type Addition = ReturnType<typeof behind>;

/** Rows to be stored after a head, in the order of their columns, and the resulting head. */
function behind(owner: ChainOwner, head: ChainHead, entries: readonly PreparedEntry[], wallMs: number) {
  const occurredAt = new Date(wallMs).toISOString();
  const era = occurredAt < head.occurredAt ? head.era + 1 : head.era;
  const rows = [];
  const details = [];
  let { sequence, hash } = head;
  for (const prepared of entries) {
    const row = rowOf(owner, head.chainId, prepared, { sequence: ++sequence, occurredAt, era, previous: hash });
    rows.push(row);
    ({ hash } = row);
    if (prepared.details !== null) details.push({ chain_id: head.chainId, sequence, details: prepared.details });
  }
  const appended = rows.map((row): Appended => ({ eventId: row.event_id, sequence: row.sequence, hash: row.hash }));
  const newHead: ChainHead = { ...head, sequence, hash, occurredAt, era };
  return { rows, details, appended, head: newHead };
}

function ownerOf(log: AuditLogName, { tenantId, projectId }: AuditScope): ChainOwner {
  return { log, tenantId, projectId };
}

function keyOf({ tenantId, projectId }: AuditScope): string {
  return JSON.stringify([tenantId, projectId]);
}

/** Null if nothing was ever recorded for this owner. */
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
