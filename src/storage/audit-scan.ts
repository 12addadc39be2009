/**
 * Reads whole audit chains quickly and changes nothing: a read-only connection and one snapshot, beside a running service
 * or on a copy. For verification and export only; the service reads through the query layer.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { AuditLogName, ChainedEvent, ChainOwner } from './audit-chain.ts';
import { migrations } from './migrations.ts';

export interface ScannedChain {
  readonly chainId: number;
  readonly owner: ChainOwner;
  readonly sequence: number;
  readonly hash: string;
}

export interface ScannedEvent {
  readonly event: ChainedEvent;
  readonly hash: string;
  readonly details: string | null | undefined;
  readonly era: number;
}

export interface ScannedMark {
  readonly auditedBy: number;
  readonly mark: string;
}

export interface AuditScan {
  readonly chains: readonly ScannedChain[];
  /** Chains of events that have no head any more. */
  readonly headless: readonly number[];
  /** All events in order of sequence. */
  events(chainId: number, withDetails: boolean): IterableIterator<ScannedEvent>;
  /** Ascending. */
  marks(chainId: number): readonly ScannedMark[];
  countDetails(chainId: number): number;
  close(): void;
}

const busyTimeoutMs = 5000;
const rowsPerRead = 2000;

export function scanAudit(file: string): AuditScan {
  const database = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs });
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version !== migrations.site.length) {
    database.close();
    throw new Error(
      `the site database has data format ${version}, this program verifies ${migrations.site.length}: start the service of this version once, or use the program of that one`,
    );
  }
  database.exec('BEGIN');
  const heads = database.prepare('SELECT * FROM audit_chain ORDER BY log, tenant_id, project_id').all();
  const chains = heads.map(chainOf);
  const known = new Set(chains.map((chain) => chain.chainId));
  const present = database.prepare('SELECT DISTINCT chain_id FROM audit_event').all();
  return {
    chains,
    headless: present.map((row) => Number(row['chain_id'])).filter((id) => !known.has(id)),
    events: (chainId, withDetails) => readEvents(database, chainId, withDetails),
    marks: (chainId) =>
      database
        .prepare('SELECT audited_by, mark FROM audit_mark WHERE chain_id = ? ORDER BY sequence')
        .all(chainId)
        .map((row) => ({ auditedBy: Number(row['audited_by']), mark: String(row['mark']) })),
    countDetails: (chainId) =>
      Number(database.prepare('SELECT count(*) AS n FROM audit_details WHERE chain_id = ?').get(chainId)?.['n']),
    close: () => database.close(),
  };
}

function chainOf(row: Readonly<Record<string, unknown>>): ScannedChain {
  const log: AuditLogName = row['log'] === 'access' ? 'access' : 'events';
  const owner = { log, tenantId: String(row['tenant_id']), projectId: String(row['project_id']) };
  return { chainId: Number(row['chain_id']), owner, sequence: Number(row['sequence']), hash: String(row['hash']) };
}

/** Selected as an array: a third faster than objects by name, over millions of rows. */
type Columns = readonly [
  ...[sequence: number, eventId: string, occurredAt: string, era: number, subjectKind: string, subjectId: string],
  ...[action: string, resourceKind: string, resourceId: string, outcome: string, risk: string, confirmation: string],
  ...[correlationId: string, traceId: string | null, detailsDigest: string | null, acceptedEventId: string | null],
  ...[previous: string, hash: string, details: string | null],
];

const columns = `e.sequence, e.event_id, e.occurred_at, e.era, e.subject_kind, e.subject_id, e.action, e.resource_kind,
  e.resource_id, e.outcome, e.risk, e.confirmation, e.correlation_id, e.trace_id, e.details_digest, e.accepted_event_id,
  e.previous_hash, e.hash`;

function* readEvents(database: DatabaseSync, chainId: number, withDetails: boolean): IterableIterator<ScannedEvent> {
  const join = 'LEFT JOIN audit_details d ON d.chain_id = e.chain_id AND d.sequence = e.sequence';
  const statement = database.prepare(
    `SELECT ${columns}, ${withDetails ? 'd.details' : 'NULL'} FROM audit_event e ${withDetails ? join : ''}
     WHERE e.chain_id = ? AND e.sequence > ? ORDER BY e.sequence LIMIT ${rowsPerRead}`,
  );
  statement.setReturnArrays(true);
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const rows = rowsOf(statement, chainId, after);
    for (const row of rows) yield eventOf(row, withDetails);
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last[0];
  }
}

function rowsOf(statement: StatementSync, chainId: number, after: number): readonly Columns[] {
  // STRICT tables hold exactly these types.
  return statement.all(chainId, BigInt(after)) as unknown as readonly Columns[];
}

function eventOf(row: Columns, withDetails: boolean): ScannedEvent {
  return {
    event: {
      sequence: String(row[0]),
      eventId: row[1],
      occurredAt: row[2],
      subjectKind: row[4],
      subjectId: row[5],
      action: row[6],
      resourceKind: row[7],
      resourceId: row[8],
      outcome: row[9],
      risk: row[10],
      confirmation: row[11],
      correlationId: row[12],
      traceId: row[13],
      detailsDigest: row[14],
      acceptedEventId: row[15],
      previous: row[16],
    },
    hash: row[17],
    details: withDetails ? row[18] : undefined,
    era: row[3],
  };
}
