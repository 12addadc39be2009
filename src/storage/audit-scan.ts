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

const optional = (column: string): string => `coalesce('=' || e.${column}, '-')`;
/** Optional columns have a sign before them, which tells an absent value from an empty one. */
const columns = [
  'e.sequence',
  'e.era',
  'e.event_id',
  'e.occurred_at',
  'e.subject_kind',
  'e.subject_id',
  'e.action',
  'e.resource_kind',
  'e.resource_id',
  'e.outcome',
  'e.risk',
  'e.confirmation',
  'e.correlation_id',
  optional('trace_id'),
  optional('details_digest'),
  optional('accepted_event_id'),
  'e.previous_hash',
  'e.hash',
];
/** A row leaves the database twice as fast when its columns are one text. */
const separator = '\u001f';

function* readEvents(database: DatabaseSync, chainId: number, withDetails: boolean): IterableIterator<ScannedEvent> {
  const join = 'LEFT JOIN audit_details d ON d.chain_id = e.chain_id AND d.sequence = e.sequence';
  const statement = database.prepare(
    `SELECT e.sequence, concat_ws(char(31), ${columns.join()}), ${withDetails ? 'd.details' : 'NULL'}
     FROM audit_event e ${withDetails ? join : ''}
     WHERE e.chain_id = ? AND e.sequence > ? ORDER BY e.sequence LIMIT ${rowsPerRead}`,
  );
  const apart = database.prepare(`SELECT ${columns.join()} FROM audit_event e WHERE chain_id = ? AND sequence = ?`);
  for (const each of [statement, apart]) each.setReturnArrays(true);
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const rows = rowsOf(statement, chainId, after);
    for (const [sequence, text, details] of rows) {
      const parts = text.split(separator);
      // A value that holds the separator could pass for its neighbours: such a row is read column by column.
      const values = parts.length === columns.length ? parts : valuesOf(apart, chainId, sequence);
      yield eventOf(values, withDetails ? details : undefined);
    }
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last[0];
  }
}

type Row = readonly [sequence: number, text: string, details: string | null];

function rowsOf(statement: StatementSync, chainId: number, after: number): readonly Row[] {
  // STRICT tables hold exactly these types.
  return statement.all(chainId, BigInt(after)) as unknown as readonly Row[];
}

function valuesOf(statement: StatementSync, chainId: number, sequence: number): readonly string[] {
  return Object.values(statement.get(chainId, BigInt(sequence)) ?? {}).map(String);
}

function eventOf(values: readonly string[], details: string | null | undefined): ScannedEvent {
  const at = (index: number): string => values[index] ?? '';
  const present = (index: number): string | null => (at(index).startsWith('=') ? at(index).slice(1) : null);
  return {
    event: {
      sequence: at(0),
      eventId: at(2),
      occurredAt: at(3),
      subjectKind: at(4),
      subjectId: at(5),
      action: at(6),
      resourceKind: at(7),
      resourceId: at(8),
      outcome: at(9),
      risk: at(10),
      confirmation: at(11),
      correlationId: at(12),
      traceId: present(13),
      detailsDigest: present(14),
      acceptedEventId: present(15),
      previous: at(16),
    },
    hash: at(17),
    details,
    era: Number(at(1)),
  };
}
