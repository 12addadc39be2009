/**
 * Reads whole audit chains quickly and changes nothing: a read-only connection and one snapshot, beside a running service
 * or on a copy. For verification and export only; the service reads through the query layer.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { DatabasePlace, DatabaseSchema } from '../../storage/database.ts';
import {
  connectPostgres,
  openedOnServer,
  type PostgresConnection,
  type PostgresPlace,
  unhurried,
} from '../../storage/postgres.ts';
import type { StoredTree } from '../tree/tree-store.ts';
import type { AuditLogName, ChainedEvent, ChainOwner } from './chain.ts';
import { incompleteIndex } from './index-check.ts';

interface ScannedChain {
  readonly chainId: number;
  readonly owner: ChainOwner;
  readonly sequence: number;
  readonly hash: string;
}

interface ScannedEvent {
  readonly event: ChainedEvent;
  readonly hash: string;
  readonly details: string | null | undefined;
  readonly era: number;
}

export interface ScannedTile {
  readonly tile: number;
  readonly width: number;
  readonly root: Uint8Array;
  readonly hashes: Uint8Array;
}

interface ScannedMark {
  readonly auditedBy: number;
  readonly mark: string;
}

export interface AuditScan {
  readonly chains: readonly ScannedChain[];
  /** Chains with events but without a head. */
  readonly headless: readonly number[];
  /** All events in order of sequence, many at a time. */
  events(chainId: number, withDetails: boolean): AsyncIterable<readonly ScannedEvent[]>;
  /** Ascending. */
  marks(chainId: number): Promise<readonly ScannedMark[]>;
  countDetails(chainId: number): Promise<number>;
  /** Oldest first. */
  trees(chainId: number): Promise<readonly StoredTree[]>;
  /** Stored tiles of one level, in order; of each tile the widest. */
  tiles(tree: StoredTree, level: number): AsyncIterable<ScannedTile>;
  /** The newest published checkpoint of a tree; null without one. */
  cosigned(tree: StoredTree): Promise<string | null>;
  /** Rows of the rules table, from the same snapshot as the events. */
  rules(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** The database's own integrity errors; null without any. May run beside the reading of events. */
  damage(): Promise<string | null>;
  close(): Promise<void>;
}

const busyTimeoutMs = 5000;
const rowsPerRead = 2000;

/** Throws for a database with a format other than `schema`. */
export async function scanAudit(place: DatabasePlace, schema: DatabaseSchema): Promise<AuditScan> {
  return typeof place === 'string' ? scanFile(place, schema) : openedOnServer('site', () => scanServer(place, schema));
}

function checkFormat(version: number, known: number): void {
  if (version === known) return;
  const advice =
    version > known
      ? 'verify it with the newer program that wrote it'
      : 'start the service of this version once, or use the program of that one';
  throw new Error(`the site database has data format ${version}, this program verifies ${known}: ${advice}`);
}

function scanFile(file: string, schema: DatabaseSchema): AuditScan {
  const database = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs });
  try {
    const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
    checkFormat(version, schema.file.length);
  } catch (error) {
    database.close();
    throw error;
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
    marks: async (chainId) =>
      database
        .prepare('SELECT audited_by, mark FROM audit_mark WHERE chain_id = ? ORDER BY sequence')
        .all(chainId)
        .map(markOf),
    trees: async (chainId) => database.prepare(treesQuery('?')).all(chainId).map(treeOf),
    async *tiles({ chainId, segment }, level) {
      const statement = database.prepare(tilesQuery(['?', '?', '?']));
      for (const row of statement.iterate(chainId, segment, level)) yield tileOf(row);
    },
    cosigned: async ({ chainId, segment }) => noteOf(database.prepare(cosignedQuery('?', '?')).all(chainId, segment)),
    rules: async () => database.prepare('SELECT * FROM rules ORDER BY id').all(),
    damage: () => fileDamage(file),
    countDetails: async (chainId) =>
      Number(database.prepare('SELECT count(*) AS n FROM audit_details WHERE chain_id = ?').get(chainId)?.['n']),
    close: async () => database.close(),
  };
}

async function scanServer(place: PostgresPlace, schema: DatabaseSchema): Promise<AuditScan> {
  const server = connectPostgres(unhurried(place), 'site');
  let connection: PostgresConnection | undefined;
  // A server connection pool closes only when each of its connections is released.
  const close = async (): Promise<void> => {
    connection?.release(true);
    await server.close();
  };
  try {
    connection = await server.connect();
    const { run } = connection;
    // A reader of the export may be slow, and a long chain takes long: nothing waits for this snapshot.
    await run('SET idle_in_transaction_session_timeout TO 0');
    await run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const [made] = await run(`SELECT to_regclass('data_format') IS NOT NULL AS made`);
    const [format] = made?.['made'] === true ? await run(`SELECT version FROM data_format WHERE name = 'site'`) : [];
    checkFormat(Number(format?.['version'] ?? 0), schema.server.length);
    const heads = await run('SELECT * FROM audit_chain ORDER BY log, tenant_id, project_id');
    const headless = await run(
      'SELECT DISTINCT chain_id FROM audit_event WHERE chain_id NOT IN (SELECT chain_id FROM audit_chain)',
    );
    return {
      chains: heads.map(chainOf),
      headless: headless.map((row) => Number(row['chain_id'])),
      async *events(chainId, withDetails) {
        const read = `SELECT e.*, ${withDetails ? 'd.details' : 'NULL AS details'} FROM audit_event e
          ${withDetails ? joined : ''} WHERE e.chain_id = $1 AND e.sequence > $2 ORDER BY e.sequence LIMIT ${rowsPerRead}`;
        for (let after = Number.MIN_SAFE_INTEGER; ; ) {
          const rows = await run(read, [chainId, after]);
          if (rows.length === 0) return;
          yield rows.map((row) => eventOfRow(row, withDetails));
          after = Number(rows.at(-1)?.['sequence']);
        }
      },
      marks: async (chainId) =>
        (await run('SELECT audited_by, mark FROM audit_mark WHERE chain_id = $1 ORDER BY sequence', [chainId])).map(
          markOf,
        ),
      trees: async (chainId) => (await run(treesQuery('$1'), [chainId])).map(treeOf),
      async *tiles({ chainId, segment }, level) {
        for (const row of await run(tilesQuery(['$1', '$2', '$3']), [chainId, segment, level])) yield tileOf(row);
      },
      cosigned: async ({ chainId, segment }) => noteOf(await run(cosignedQuery('$1', '$2'), [chainId, segment])),
      rules: () => run('SELECT * FROM rules ORDER BY id'),
      damage: () => incompleteIndex(server),
      async countDetails(chainId) {
        const [row] = await run('SELECT count(*) AS n FROM audit_details WHERE chain_id = $1', [chainId]);
        return Number(row?.['n']);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const treesQuery = (chain: string): string =>
  `SELECT chain_id, segment, origin, first_sequence FROM audit_tree WHERE chain_id = ${chain} ORDER BY segment`;
const tilesQuery = ([chain, segment, level]: readonly [string, string, string]): string =>
  `SELECT tile, width, root, hashes FROM audit_tile t WHERE chain_id = ${chain} AND segment = ${segment} AND level = ${level}
    AND width = (SELECT max(width) FROM audit_tile o WHERE o.chain_id = t.chain_id AND o.segment = t.segment AND o.level = t.level
      AND o.tile = t.tile) ORDER BY tile`;

const cosignedQuery = (chain: string, segment: string): string =>
  `SELECT note FROM audit_cosigned WHERE chain_id = ${chain} AND segment = ${segment}`;

function noteOf([row]: readonly Readonly<Record<string, unknown>>[]): string | null {
  return row === undefined ? null : String(row['note']);
}

function treeOf(row: Readonly<Record<string, unknown>>): StoredTree {
  return {
    chainId: Number(row['chain_id']),
    segment: Number(row['segment']),
    origin: String(row['origin']),
    first: Number(row['first_sequence']),
  };
}

function tileOf(row: Readonly<Record<string, unknown>>): ScannedTile {
  const bytes = (value: unknown): Uint8Array => (value instanceof Uint8Array ? value : new Uint8Array());
  return {
    tile: Number(row['tile']),
    width: Number(row['width']),
    root: bytes(row['root']),
    hashes: bytes(row['hashes']),
  };
}

/** In a separate thread, see there. Rejects if the file cannot be read. */
function fileDamage(file: string): Promise<string | null> {
  const worker = new Worker(new URL('./integrity-thread.ts', import.meta.url), { workerData: file });
  return new Promise((resolve, reject) => {
    worker.once('message', (found: string | null) => resolve(found));
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the check of the database ended without an answer')));
  });
}

function markOf(row: Readonly<Record<string, unknown>>): ScannedMark {
  return { auditedBy: Number(row['audited_by']), mark: String(row['mark']) };
}

function eventOfRow(row: Readonly<Record<string, unknown>>, withDetails: boolean): ScannedEvent {
  const text = (name: string): string => String(row[name]);
  const optionally = (name: string): string | null => (row[name] === null ? null : text(name));
  return {
    event: {
      sequence: text('sequence'),
      eventId: text('event_id'),
      occurredAt: text('occurred_at'),
      subjectKind: text('subject_kind'),
      subjectId: text('subject_id'),
      action: text('action'),
      resourceKind: text('resource_kind'),
      resourceId: text('resource_id'),
      outcome: text('outcome'),
      risk: text('risk'),
      confirmation: text('confirmation'),
      correlationId: text('correlation_id'),
      traceId: optionally('trace_id'),
      detailsDigest: optionally('details_digest'),
      acceptedEventId: optionally('accepted_event_id'),
      previous: text('previous_hash'),
    },
    hash: text('hash'),
    details: withDetails ? optionally('details') : undefined,
    era: Number(row['era']),
  };
}

function chainOf(row: Readonly<Record<string, unknown>>): ScannedChain {
  const log: AuditLogName = row['log'] === 'access' ? 'access' : 'events';
  const owner = { log, tenantId: String(row['tenant_id']), projectId: String(row['project_id']) };
  return { chainId: Number(row['chain_id']), owner, sequence: Number(row['sequence']), hash: String(row['hash']) };
}

const optional = (column: string): string => `coalesce('=' || e.${column}, '-')`;
/** Optional columns have a prefix, which distinguishes an absent value from an empty one. */
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
/** A row is read twice as fast if its columns are one text. */
const separator = '\u001f';

const joined = 'LEFT JOIN audit_details d ON d.chain_id = e.chain_id AND d.sequence = e.sequence';

async function* readEvents(
  database: DatabaseSync,
  chainId: number,
  withDetails: boolean,
): AsyncGenerator<readonly ScannedEvent[]> {
  const statement = database.prepare(
    `SELECT e.sequence, concat_ws(char(31), ${columns.join()}), ${withDetails ? 'd.details' : 'NULL'}
     FROM audit_event e ${withDetails ? joined : ''}
     WHERE e.chain_id = ? AND e.sequence > ? ORDER BY e.sequence LIMIT ${rowsPerRead}`,
  );
  const apart = database.prepare(`SELECT ${columns.join()} FROM audit_event e WHERE chain_id = ? AND sequence = ?`);
  for (const each of [statement, apart]) each.setReturnArrays(true);
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const rows = rowsOf(statement, chainId, after);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(([sequence, text, details]) => {
      const parts = text.split(separator);
      // A value that contains the separator is ambiguous: such a row is read column by column.
      const values = parts.length === columns.length ? parts : valuesOf(apart, chainId, sequence);
      return eventOf(values, withDetails ? details : undefined);
    });
    after = last[0];
  }
}

type Row = readonly [sequence: number, text: string, details: string | null];

function rowsOf(statement: StatementSync, chainId: number, after: number): readonly Row[] {
  // STRICT tables contain exactly these types.
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
