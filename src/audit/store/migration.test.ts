/** Databases of the first format are chained when they are opened [audit §6]: nothing is lost, nothing excused. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { sha256Hex } from '../../base/digest.ts';
import { siteSchema } from '../../databases/schemas.ts';
import { openDatabase } from '../../databases/site-database.ts';
import { auditEntry, tamper } from '../../testing/audit-trail.ts';
import { gatherEvidence } from '../evidence.ts';
import { createAuditLog } from '../log.ts';
import { closeOpenRecords } from '../open-records.ts';
import { createAuditSearch } from '../search.ts';
import { verifyScan } from '../verify.ts';
import { scanAudit } from './scan.ts';

describe('an audit log of the first format', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'migration-'));
    file = join(folder, 'site.sqlite');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const firstFormat = (change: (database: DatabaseSync) => void = () => undefined): void => {
    const database = new DatabaseSync(file);
    const [first] = siteSchema.file;
    if (typeof first !== 'string') throw new Error('the first step is SQL');
    database.exec(first);
    const insert = database.prepare(
      `INSERT INTO audit_event VALUES (?, 'p', ?, ?, ?, 'user', 'ada', 'automation.rule.create', 'automation-rule',
        'automation-rule:new', ?, 'medium', 'explicit', 'correlation-1', NULL, ?, NULL)`,
    );
    for (const tenant of ['t', 'u'])
      for (let sequence = 1; sequence <= 20; sequence++) {
        const details = JSON.stringify({ sequence });
        const second = String(sequence === 10 ? 0 : sequence).padStart(2, '0');
        const occurredAt = `2026-01-01T00:00:${second}.000Z`;
        const outcome = sequence === 20 ? 'accepted' : 'succeeded';
        const digest = sequence % 2 === 0 ? sha256Hex(details) : null;
        insert.run(tenant, sequence, `event-${tenant}-${sequence}`, occurredAt, outcome, digest);
        if (digest !== null)
          database.prepare('INSERT INTO audit_details VALUES (?, ?, ?, ?)').run(tenant, 'p', sequence, details);
      }
    for (const tenant of ['t', 'u']) database.prepare('INSERT INTO audit_head VALUES (?, ?, 20)').run(tenant, 'p');
    database.exec('PRAGMA user_version = 1');
    database.close();
    tamper(file, change);
  };
  const verify = async () => {
    const scan = await scanAudit(file, siteSchema);
    const report = await verifyScan(scan, gatherEvidence({ keys: [], anchor: null, checkpoints: null, ownKey: null }), {
      withDetails: true,
    });
    await scan.close();
    return report;
  };

  test('every event is chained with its details, in each scope, and the sequence continues', async () => {
    firstFormat();
    const database = openDatabase(file);
    const scope = { tenantId: 't', projectId: 'p' };
    const log = createAuditLog({ database, clock: systemClock, scope });
    expect(await closeOpenRecords({ database, clock: systemClock, scope })).toBe(1);
    expect((await log.append(auditEntry())).sequence).toBe(22);
    const search = createAuditSearch({ database, clock: systemClock, scanWindow: 5000 });
    const page = await search.page(scope, {
      below: 21n,
      limit: 100,
      filters: {},
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-01T00:00:08.000Z',
    });
    expect(page.items.map((item) => item.sequence)).toEqual(['10', '8', '7', '6', '5', '4', '3', '2', '1']);
    await database.close();
    expect(await verify()).toMatchObject({
      problems: [],
      chains: [
        { owner: { tenantId: 't' }, first: 1, last: 22, details: 10, broken: null },
        { owner: { tenantId: 'u' }, first: 1, last: 20, details: 10, broken: null },
      ],
    });
  });

  test('gaps and cut tails of before are not excused', async () => {
    firstFormat((database) => {
      database.exec(`DELETE FROM audit_event WHERE tenant_id = 't' AND sequence = 7`);
      database.exec(`DELETE FROM audit_event WHERE tenant_id = 'u' AND sequence > 18`);
    });
    await openDatabase(file).close();
    expect((await verify()).chains.map(({ broken }) => [broken?.kind, broken?.sequence])).toEqual([
      ['deleted', 7],
      ['cut', 19],
    ]);
  });

  test('verification refuses an unreadable or older database with a clear message', async () => {
    firstFormat();
    await expect(scanAudit(file, siteSchema)).rejects.toThrow(/data format 1/);
  });
});
