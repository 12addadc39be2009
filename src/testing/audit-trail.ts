/** An audit trail for tests: a database in a folder of its own, a wall clock that is set by hand, and events made up. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { appendToChain, prepareEntry } from '../audit/chain-store.ts';
import type { AuditEntry } from '../audit/event.ts';
import type { AuditKey } from '../audit/statement.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { AuditLogName } from '../storage/audit-chain.ts';
import { type Database, openDatabase } from '../storage/database.ts';

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
  readonly folder: string;
  readonly file: string;
  readonly database: Database;
  readonly clock: Clock & { setWall(ms: number): void };
  close(): Promise<void>;
}

export function testTrail(): TestTrail {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'));
  const file = join(folder, 'site.sqlite');
  const database = openDatabase(file);
  let wallMs = Date.UTC(2026, 0, 1);
  const clock = { ...systemClock, wallMs: () => wallMs, setWall: (ms: number) => void (wallMs = ms) };
  return {
    folder,
    file,
    database,
    clock,
    async close() {
      await database.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Appends `count` events, each with details and told apart by them, all in one transaction. */
export async function fillTrail(
  trail: Pick<TestTrail, 'database' | 'clock'>,
  count: number,
  log: AuditLogName = 'events',
): Promise<void> {
  const entries = Array.from({ length: count }, (_, number) => prepareEntry(auditEntry({ details: { number } })));
  await trail.database.transaction((within) => appendToChain(within, log, testScope, entries, trail.clock.wallMs()));
}

/** What somebody does who can write to the file: the triggers are theirs to drop. */
export function tamper(file: string, work: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(file);
  const triggers = database.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all();
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
  work(database);
  for (const { sql } of triggers) database.exec(String(sql));
  database.close();
}

export function testAuditKey(): AuditKey {
  return generateKeyPairSync('ed25519');
}
