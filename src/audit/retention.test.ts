/** Retention [audit §8]: off by default; removes at or below a signed, audited mark, and the remaining events verify. */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import { siteSchema } from '../databases/schemas.ts';
import {
  auditEntry,
  fillTrail,
  type TestTrail,
  testAuditKey,
  testOrigin,
  testScope,
  testSigner,
  testTrail,
} from '../testing/audit-trail.ts';
import { engines } from '../testing/engines.ts';
import { gatherEvidence } from './evidence.ts';
import { exportLines, verifyExport } from './export-file.ts';
import { type AuditLimits, auditLimits } from './limits.ts';
import { createAccessLog, createAuditLog } from './log.ts';
import { createRetention } from './retention.ts';
import { createAuditSearch } from './search.ts';
import { type AuditKey, keyName } from './statement.ts';
import { scanAudit } from './store/scan.ts';
import { auditFiles, openAuditTrail } from './trail.ts';
import { verifyScan } from './verify.ts';

const dayMs = 86_400_000;
const begin = Date.UTC(2026, 0, 1);

/** Attacks specific to each engine, beyond plain edits. */
const pastTheTriggers = {
  sqlite: [
    'INSERT OR REPLACE INTO audit_event SELECT * FROM audit_event WHERE sequence = 31',
    'INSERT OR REPLACE INTO audit_details SELECT * FROM audit_details WHERE sequence = 11',
    'INSERT OR REPLACE INTO audit_chain SELECT * FROM audit_chain',
    'INSERT OR REPLACE INTO audit_mark SELECT * FROM audit_mark',
  ],
  postgres: [
    'TRUNCATE audit_event',
    'TRUNCATE audit_details',
    'TRUNCATE audit_chain',
    'TRUNCATE audit_mark',
    `INSERT INTO audit_event SELECT * FROM audit_event WHERE sequence = 31
      ON CONFLICT (event_id) DO UPDATE SET risk = excluded.risk`,
    `INSERT INTO audit_event SELECT chain_id, 33, event_id || 'x', occurred_at, era, subject_kind, subject_id, action,
      resource_kind, resource_id, outcome, risk, confirmation, correlation_id, trace_id, details_digest, accepted_event_id,
      previous_hash, hash FROM audit_event WHERE sequence = 31`,
    `INSERT INTO audit_details VALUES (1, 99, '{}')`,
  ],
};

describe.each(engines)('audit retention on %s', (engine) => {
  let trail: TestTrail;
  let key: AuditKey;
  beforeEach(async () => {
    trail = await testTrail(engine);
    key = testAuditKey();
  });
  afterEach(() => trail.close());

  const sweep = (retentionDays: number, retentionBatch = 4, more: Partial<AuditLimits> = {}): Promise<number> => {
    const limits = { ...auditLimits, retention_days: retentionDays, retention_batch: retentionBatch, ...more };
    const parts = { ...trail, log: silentLog, limits, key };
    const { checkpointer } = testSigner(trail, { key, limits });
    return createRetention({ ...parts, checkpointer }).sweep();
  };
  /** Ten closed events a day. */
  const tenADay = async (days: number): Promise<void> => {
    const log = createAuditLog({ ...trail, scope: testScope });
    for (let day = 0; day < days; day++) {
      trail.clock.setWall(begin + day * dayMs);
      for (let pair = 0; pair < 5; pair++) {
        const { eventId } = await log.append(auditEntry({ details: { day, pair } }));
        await log.append(auditEntry({ outcome: 'succeeded', acceptedEventId: eventId }));
      }
    }
  };
  const verify = async () => {
    const scan = await scanAudit(trail.place, siteSchema);
    const own = { keys: [], anchor: null, checkpoints: null, ownKey: keyName(key.publicKey) };
    const report = await verifyScan(scan, gatherEvidence(own), { withDetails: true });
    await scan.close();
    return report;
  };
  const range = async () => {
    const { chains, problems } = await verify();
    return [chains[0]?.first, chains[0]?.last, chains[0]?.broken, problems];
  };

  test('retention_interval_ms: the sweep at the start is repeated after each interval', async () => {
    await tenADay(2);
    const limits = { ...auditLimits, retention_days: 1 };
    const waits: number[] = [];
    let next = (): void => undefined;
    const after = (ms: number, task: () => void) => {
      waits.push(ms);
      next = task;
      return { cancel: () => undefined };
    };
    const clock = { ...trail.clock, after };
    const { checkpointer } = testSigner(trail, { key, limits });
    const retention = createRetention({ ...trail, clock, log: silentLog, limits, key, checkpointer });
    trail.clock.setWall(begin + 2 * dayMs);
    retention.open();
    await expect.poll(range).toEqual([11, 21, null, []]);
    trail.clock.setWall(begin + 3 * dayMs);
    next();
    await expect.poll(range).toEqual([21, 22, null, []]);
    expect(waits).toEqual([limits.retention_interval_ms, limits.retention_interval_ms]);
    await retention.close();
  });

  test('is off by default: nothing is ever removed', async () => {
    expect(auditLimits.retention_days).toBe(0);
    await tenADay(2);
    trail.clock.setWall(begin + 10_000 * dayMs);
    expect(await sweep(0)).toBe(0);
    expect(await range()).toEqual([1, 20, null, []]);
  });

  test('removes exactly the expired events; the rest verifies, and the mark is an event', async () => {
    await tenADay(5);
    trail.clock.setWall(begin + 4 * dayMs);
    expect(await sweep(3)).toBe(10);
    // Event 51 records the mark; the events of exactly 3 days ago stay.
    expect(await range()).toEqual([11, 51, null, []]);
    const search = createAuditSearch({ ...trail, scanWindow: 5000 });
    const page = await search.page(testScope, { below: null, limit: 100, from: null, to: null, filters: {} });
    expect(page.items[0]).toMatchObject({
      sequence: '51',
      action: 'audit.retention.mark',
      subject: { kind: 'system' },
    });
    expect([page.items.at(-1)?.sequence, page.items.length, page.nextCursor]).toEqual(['11', 41, null]);
    expect(await trail.database.query.selectFrom('audit_details').select('sequence').execute()).toHaveLength(21);
    expect(await sweep(3)).toBe(0);
    expect(await range()).toEqual([11, 51, null, []]);
    trail.clock.setWall(begin + 5 * dayMs);
    expect(await sweep(3)).toBe(10);
    expect(await range()).toEqual([21, 52, null, []]);
  });

  test('[audit §9.4] an export holds the hashes of removed events: the rest is shown to be in the tree of an anchor', async () => {
    // More than a tile of the tree, which holds 256 hashes, is removed.
    await tenADay(33);
    trail.clock.setWall(begin + 32 * dayMs);
    const { checkpointer } = testSigner(trail, { key });
    const limits = { ...auditLimits, retention_days: 3 };
    await createRetention({ ...trail, log: silentLog, limits, key, checkpointer }).sweep();
    const scan = await scanAudit(trail.place, siteSchema);
    const checkpoints = readFileSync(auditFiles(trail.folder).checkpoints, 'utf8');
    const facts = { exportedAt: 'now', key: keyName(key.publicKey), checkpoints };
    const lines = (await Array.fromAsync(exportLines(scan, facts))).map((line) => line.trimEnd());
    await scan.close();
    const leaves = lines.filter((line) => line.startsWith('{"type":"leaves"'));
    expect(leaves).toHaveLength(2);
    const read = async (given: readonly string[]) => {
      const verifier = verifyExport({ keys: [], anchor: null, witnesses: [] });
      for (const line of given) await verifier.line(line);
      const { chains, problems } = verifier.finish();
      return [chains[0]?.first, chains[0]?.last, chains[0]?.broken?.kind ?? null, problems];
    };
    expect(await read(lines)).toEqual([291, 331, null, []]);
    const changed = (leaves[0] ?? '').replace(/"hashes":"(.)/, (_, first) => `"hashes":"${first === 'A' ? 'B' : 'A'}`);
    expect(await read(lines.map((line) => (line === leaves[0] ? changed : line)))).toEqual([291, 331, 'tree', []]);
    expect(await read(lines.filter((line) => line !== leaves[0]))).toEqual([291, 331, 'tree', []]);
  });

  test('all events too old: those that record the marks stay, and the sequence continues', async () => {
    await tenADay(2);
    trail.clock.setWall(begin + 100 * dayMs);
    expect(await sweep(3)).toBe(20);
    expect(await range()).toEqual([21, 21, null, []]);
    const log = createAuditLog({ ...trail, scope: testScope });
    expect((await log.append(auditEntry())).sequence).toBe(22);
    expect(await range()).toEqual([21, 22, null, []]);
  });

  test('an accepted event that is still open stays, with all later ones', async () => {
    await fillTrail(trail, 1);
    await tenADay(1);
    const log = createAuditLog({ ...trail, scope: testScope });
    await log.append(auditEntry({ outcome: 'failed' }));
    trail.clock.setWall(begin + 100 * dayMs);
    expect(await sweep(3)).toBe(0);
    expect(await range()).toEqual([1, 12, null, []]);
  });

  test('a clock that was set back does not make young events old', async () => {
    await tenADay(2);
    trail.clock.setWall(begin - 50 * dayMs);
    const log = createAuditLog({ ...trail, scope: testScope });
    await log.append(auditEntry({ outcome: 'denied' }));
    trail.clock.setWall(begin + 2 * dayMs);
    expect(await sweep(5)).toBe(0);
    expect(await sweep(1)).toBe(10);
    expect(await range()).toEqual([11, 22, null, []]);
  });

  test('the access log has its own marks', async () => {
    const access = createAccessLog(trail);
    for (let count = 0; count < 6; count++) await access.record(testScope, auditEntry({ outcome: 'succeeded' }));
    trail.clock.setWall(begin + 10 * dayMs);
    expect(await sweep(3)).toBe(6);
    expect((await verify()).chains).toMatchObject([{ owner: { log: 'access' }, first: 7, last: 7, broken: null }]);
  });

  test('the access log holds `access_events_max` and at most one batch more, whatever retention is; events all stay', async () => {
    await fillTrail(trail, 30);
    const log = createAccessLog(trail);
    const searched = async (count: number): Promise<void> => {
      const records = Array.from({ length: count }, () => log.record(testScope, auditEntry({ outcome: 'succeeded' })));
      await Promise.all(records);
    };
    await searched(13);
    const bounded = () => sweep(0, 4, { access_events_max: 10 });
    const access = async () => (await verify()).chains.find((chain) => chain.owner.log === 'access');
    expect(await bounded()).toBe(0);
    await searched(1);
    expect(await bounded()).toBe(4);
    expect(await access()).toMatchObject({ first: 5, last: 15, broken: null });
    expect(await bounded()).toBe(0);
    expect(await verify()).toMatchObject({
      problems: [],
      chains: [{}, { owner: { log: 'events' }, first: 1, last: 30 }],
    });
    await searched(20);
    expect(await sweep(0, 4, { access_events_max: 0 })).toBe(0);
    expect(await access()).toMatchObject({ first: 5, last: 35, broken: null });
  });

  test('a flood of searches is limited at once, not at the next hour', async () => {
    const limits = { ...auditLimits, retention_batch: 10, access_events_max: 20 };
    const scope = testScope;
    const alone = { origin: testOrigin, witnesses: [], required: 0, sharedForMs: null };
    const parts = { ...trail, ...alone, log: silentLog, limits, scope, key, dataFolder: trail.folder };
    const open = await openAuditTrail(parts);
    for (let count = 0; count < 200; count++) await open.access.record(scope, auditEntry({ outcome: 'succeeded' }));
    await open.close();
    const [chain] = (await verify()).chains;
    expect(chain).toMatchObject({ owner: { log: 'access' }, broken: null });
    expect(chain?.events).toBeLessThan(100);
  });

  test('a sweep that was cut short is finished by the next one', async () => {
    await tenADay(3);
    trail.clock.setWall(begin + 3 * dayMs);
    const failing = {
      ...trail.database,
      transaction: (() => {
        let calls = 0;
        return <T>(work: Parameters<typeof trail.database.transaction<T>>[0]) =>
          ++calls > 2 ? Promise.reject(new Error('power cut')) : trail.database.transaction(work);
      })(),
    };
    const limits = { ...auditLimits, retention_days: 1, retention_batch: 4 };
    const parts = { ...trail, log: silentLog, limits, key };
    const { checkpointer } = testSigner(trail, { key, limits });
    expect(await createRetention({ ...parts, database: failing, checkpointer }).sweep()).toBe(0);
    expect(await range()).toEqual([5, 31, null, []]);
    expect(await sweep(1)).toBe(16);
    expect(await range()).toEqual([21, 31, null, []]);
  });

  test('the database lets nothing go above the mark, nor out of the middle, nor with a mark that no event records', async () => {
    await tenADay(3);
    trail.clock.setWall(begin + 3 * dayMs);
    await expect(trail.run('DELETE FROM audit_event WHERE sequence = 1')).rejects.toThrow(/append-only/);
    await expect(
      trail.run(`INSERT INTO audit_mark SELECT 1, 10, hash, 30, '{}' FROM audit_event WHERE sequence = 10`),
    ).rejects.toThrow(/recorded by an event/);
    await sweep(2);
    expect(await range()).toEqual([11, 31, null, []]);
    for (const sql of [
      'DELETE FROM audit_event',
      'DELETE FROM audit_event WHERE sequence = 11',
      'DELETE FROM audit_details WHERE sequence = 11',
      'DELETE FROM audit_mark',
      'UPDATE audit_mark SET sequence = 20',
      'DELETE FROM audit_chain',
      'UPDATE audit_chain SET sequence = 5',
      `UPDATE audit_chain SET hash = '${'0'.repeat(64)}'`,
      `UPDATE audit_event SET risk = '1'`,
      `UPDATE audit_details SET details = '{}'`,
      ...pastTheTriggers[engine],
    ])
      await expect(trail.run(sql), sql).rejects.toThrow(
        /append-only|only grows|never removed|appended behind|begins once|once|mark/,
      );
    expect(await range()).toEqual([11, 31, null, []]);
  });

  test('a mark without a trusted signature, or that is not recorded, allows nothing', async () => {
    await tenADay(3);
    trail.clock.setWall(begin + 3 * dayMs);
    key = testAuditKey();
    await sweep(2);
    const thief = keyName(key.publicKey);
    key = testAuditKey();
    expect(thief).not.toBe(keyName(key.publicKey));
    expect(await range()).toMatchObject([
      11,
      0,
      { kind: 'deleted', sequence: 1 },
      [expect.stringContaining('not signed')],
    ]);
  });

  test('events removed above a mark, directly in the file, are reported as missing', async () => {
    await tenADay(3);
    trail.clock.setWall(begin + 3 * dayMs);
    await sweep(2);
    await trail.tamper('DELETE FROM audit_details WHERE sequence <= 15; DELETE FROM audit_event WHERE sequence <= 15');
    expect((await range())[2]).toMatchObject({ kind: 'deleted', sequence: 11 });
  });
});
