/** An audit trail for tests: its own database on either engine, a wall clock set by hand, and made-up events. */
import { generateKeyPairSync } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { Breaks } from '../audit/breaks.ts';
import { Checkpointer } from '../audit/checkpoints.ts';
import type { AuditEntry } from '../audit/event.ts';
import { type AuditLimits, auditLimits } from '../audit/limits.ts';
import { AuditProofs } from '../audit/proofs.ts';
import type { AuditKey } from '../audit/statement.ts';
import type { AuditLogName } from '../audit/store/chain.ts';
import { appendToChain, prepareEntry } from '../audit/store/chain-store.ts';
import { auditFiles } from '../audit/trail.ts';
import { LogTrees } from '../audit/tree/log-trees.ts';
import type { AskWitness } from '../audit/witness/ask-witness.ts';
import { PublishedHeads } from '../audit/witness/published-heads.ts';
import { type ConfiguredWitness, Witnesses } from '../audit/witness/witnesses.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { type Log, silentLog } from '../base/log.ts';
import { openDatabase } from '../databases/site-database.ts';
import type { Database, DatabasePlace } from '../storage/database.ts';
import type { RetentionTime } from '../storage/retention-clock.ts';
import { type DatabaseEngine, runOn, testPlaces } from './engines.ts';

export const testScope = { tenantId: 'tenant-1', projectId: 'project-1' };

export function auditEntry(more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    subject: { kind: 'user', subjectId: 'ada' },
    action: 'automation.rule.create',
    resource: { kind: 'automation-rule', resourceId: 'automation-rule:new' },
    outcome: 'accepted',
    risk: 'medium',
    confirmation: 'explicit',
    correlationId: 'correlation-1',
    ...more,
  };
}

export interface TestTrail {
  readonly engine: DatabaseEngine;
  readonly folder: string;
  readonly place: DatabasePlace;
  readonly database: Database;
  readonly clock: Clock & { setWall(ms: number): void };
  /** As the clock. */
  readonly retention: RetentionTime;
  /** Plain SQL past the query layer; triggers apply. */
  run(statements: string): Promise<void>;
  /** The same, after dropping the triggers. */
  tamper(statements: string): Promise<void>;
  /** The answer to a query that bypasses the query layer. */
  rows(query: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Another trail with the same content. */
  copy(): Promise<TestTrail>;
  close(): Promise<void>;
}

export async function testTrail(engine: DatabaseEngine): Promise<TestTrail> {
  const { folder, site: place, remove } = await testPlaces(engine);
  const database = openDatabase(place);
  await database.ready();
  let wallMs = Date.UTC(2026, 0, 1);
  const clock = { ...systemClock, wallMs: () => wallMs, setWall: (ms: number) => void (wallMs = ms) };
  return {
    engine,
    folder,
    place,
    database,
    clock,
    retention: { nowMs: clock.wallMs },
    run: (statements) => runAt(place, statements),
    tamper: (statements) => tamperAt(place, statements),
    rows: (query) => rowsAt(place, query),
    copy: () => copyTrail(place, engine),
    async close() {
      await database.close();
      await remove();
    },
  };
}

async function runAt(place: DatabasePlace, statements: string): Promise<void> {
  if (typeof place !== 'string') {
    try {
      await runOn(place, statements);
    } catch (error) {
      throw error instanceof Fault ? error.cause : error;
    }
    return;
  }
  const file = new DatabaseSync(place);
  try {
    file.exec(statements);
  } finally {
    file.close();
  }
}

async function rowsAt(place: DatabasePlace, query: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  if (typeof place !== 'string') return await runOn(place, query);
  const file = new DatabaseSync(place);
  try {
    return file.prepare(query).all();
  } finally {
    file.close();
  }
}

async function copyTrail(from: DatabasePlace, engine: DatabaseEngine): Promise<TestTrail> {
  const copy = await testTrail(engine);
  if (typeof from === 'string') {
    await copy.tamper(
      `ATTACH DATABASE '${from}' AS original; ${auditTables
        .map((table) => `INSERT INTO ${table} SELECT * FROM original.${table};`)
        .join(' ')} DETACH DATABASE original`,
    );
  } else {
    const { postgres_schema: original } = from.limits;
    await copy.tamper(auditTables.map((table) => `INSERT INTO ${table} SELECT * FROM ${original}.${table}`).join(';'));
  }
  return copy;
}

const auditTables = [
  'audit_chain',
  'audit_event',
  'audit_details',
  'audit_mark',
  'audit_tree',
  'audit_tile',
  'audit_cosigned',
];
const triggers = (how: 'DISABLE' | 'ENABLE'): string =>
  auditTables.map((table) => `ALTER TABLE ${table} ${how} TRIGGER USER;`).join(' ');

/** Appends `count` events with distinct details, all in one transaction. */
export async function fillTrail(
  trail: Pick<TestTrail, 'database' | 'clock'>,
  count: number,
  log: AuditLogName = 'events',
): Promise<void> {
  const entries = Array.from({ length: count }, (_, number) => prepareEntry(auditEntry({ details: { number } })));
  await trail.database.transaction((within) => appendToChain(within, log, testScope, entries, trail.clock.wallMs()));
}

/** An edit by an attacker with write access to the database, who can drop the triggers. */
export async function tamperAt(place: DatabasePlace, statements: string): Promise<void> {
  if (typeof place === 'string') tamper(place, (file) => file.exec(statements));
  else await runOn(place, `${triggers('DISABLE')} ${statements}; ${triggers('ENABLE')}`);
}

/** The same, on a file. */
export function tamper(file: string, work: (database: DatabaseSync) => void): void {
  // A running service may hold the lock for a moment.
  const database = new DatabaseSync(file, { timeout: 5000 });
  // Dozens of statements, each of which would wait for the disk.
  database.exec('PRAGMA synchronous = OFF');
  const triggers = database.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all();
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
  work(database);
  for (const { sql } of triggers) database.exec(String(sql));
  database.close();
}

export function testAuditKey(): AuditKey {
  return generateKeyPairSync('ed25519');
}

export const testOrigin = 'setpoint/test';

/** Everything needed to sign checkpoints of a test trail; without witnesses by default. */
export function testSigner(
  trail: Pick<TestTrail, 'database' | 'clock' | 'folder'>,
  given: {
    readonly key: AuditKey;
    readonly clock?: Clock;
    readonly log?: Log;
    readonly limits?: AuditLimits;
    readonly witnesses?: readonly ConfiguredWitness[];
    readonly required?: number;
    readonly ask?: AskWitness;
  },
) {
  const {
    key,
    clock = trail.clock,
    log = silentLog,
    limits = auditLimits,
    witnesses: asked = [],
    required = 0,
  } = given;
  const breaks = new Breaks();
  const { database } = trail;
  const trees = new LogTrees({ database, clock, key, origin: testOrigin });
  const ask = given.ask ?? (async () => ({ kind: 'failed', reason: 'there is no witness' }) as const);
  const published = new PublishedHeads({ database, clock, witnesses: asked.map(({ verifier }) => verifier), required });
  const witnesses = new Witnesses({ database, clock, log, witnesses: asked, published, breaks, ask });
  const file = auditFiles(trail.folder).checkpoints;
  const checkpointer = new Checkpointer({ database, clock, log, limits, key, trees, witnesses, breaks, file });
  const proofs = new AuditProofs({ database, clock, trees, published, checkpointer });
  return { breaks, trees, witnesses, checkpointer, proofs };
}
