/** An audit trail for tests: a database in a folder of its own, a wall clock that is set by hand, and events made up. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditEntry } from '../audit/event.ts';
import { type Clock, systemClock } from '../base/clock.ts';
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
