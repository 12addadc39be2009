/** The audit store [platform §3], [audit §6]: durable, append-only, one gap-free sequence per scope. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { sha256Hex } from '../base/digest.ts';
import { openDatabase } from '../databases/site-database.ts';
import type { Database } from '../storage/database.ts';
import { engines, type TestPlaces, testPlaces } from '../testing/engines.ts';
import type { AuditEntry } from './event.ts';
import { auditLimits } from './limits.ts';
import { createAccessLog, createAuditLog } from './log.ts';
import { headsKept } from './store/chain-store.ts';
import { auditIsWritable } from './writable.ts';

const scope = { tenantId: 't', projectId: 'p' };
const entry = (more: Partial<AuditEntry> = {}): AuditEntry => ({
  subject: { kind: 'user', subjectId: 'ada' },
  action: 'automation.rule.create',
  resource: { kind: 'automation-rule', resourceId: 'automation-rule:new' },
  outcome: 'accepted',
  risk: 'medium',
  confirmation: 'explicit',
  correlationId: 'correlation-1',
  ...more,
});

describe.each(engines)('audit log on %s', (engine) => {
  let places: TestPlaces;
  let database: Database;
  beforeEach(async () => {
    places = await testPlaces(engine);
    database = openDatabase(places.site);
    await database.ready();
  });
  afterEach(async () => {
    await database.close();
    await places.remove();
  });
  const sequences = async (tenantId = 't') =>
    (
      await database.query
        .selectFrom('audit_event')
        .innerJoin('audit_chain', 'audit_chain.chain_id', 'audit_event.chain_id')
        .select('audit_event.sequence')
        .where('tenant_id', '=', tenantId)
        .orderBy('audit_event.sequence')
        .execute()
    ).map((row) => row.sequence);
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

  test('[platform §4.1] writable means that an event can be appended and a commit stored; the check leaves no trace', async () => {
    const isWritable = (change: Partial<Database> = {}) =>
      auditIsWritable({ ...database, ...change }, scope, systemClock);
    expect(await isWritable()).toBe(true);
    expect(await isWritable({ transaction: () => Promise.reject(new Error('disk I/O error')) })).toBe(false);
    // What is rolled back never reaches the disk: a read-only one is noticed by the commit only.
    expect(await isWritable({ commitNothing: () => Promise.reject(new Error('disk I/O error')) })).toBe(false);
    expect(await sequences()).toEqual([]);
  });

  test('[audit §3] one gap-free sequence under concurrent appends, from two writers on one file', async () => {
    const other = openDatabase(places.site);
    const a = createAuditLog({ database, clock: systemClock, scope });
    const b = createAuditLog({ database: other, clock: systemClock, scope });
    const answers = await Promise.all(
      Array.from({ length: 400 }, (_, index) => (index % 2 === 0 ? a : b).append(entry())),
    );
    expect(answers.map((answer) => answer.sequence).sort((x, y) => x - y)).toEqual(upTo(400));
    expect(await sequences()).toEqual(upTo(400));
    await other.close();
  });

  test('[audit §3] an append continues after events that another process has appended, in any order', async () => {
    const other = openDatabase(places.site);
    const a = createAuditLog({ database, clock: systemClock, scope });
    const b = createAuditLog({ database: other, clock: systemClock, scope });
    const sequencesOf = [];
    for (const log of [a, a, b, b, a, b, a, a]) sequencesOf.push((await log.append(entry({ details: {} }))).sequence);
    expect(sequencesOf).toEqual(upTo(8));
    // Appended inside a transaction of another change: once committed, once rolled back.
    await database.transaction((transaction) => a.appendIn(transaction, entry()));
    const undone = database.transaction(async (transaction) => {
      await a.appendIn(transaction, entry());
      throw new Error('given up');
    });
    await expect(undone).rejects.toThrow('given up');
    expect((await a.append(entry())).sequence).toBe(10);
    expect(await sequences()).toEqual(upTo(10));
    await other.close();
  });

  test('after an append with an unknown result, the next one reads where the chain ends', async () => {
    let trouble: 'none' | 'before' | 'after' = 'none';
    const { batch } = database;
    const late = new Error('did not answer in time');
    const shaky: Database = {
      ...database,
      batch:
        batch === null
          ? null
          : async (statements) => {
              if (trouble === 'before') throw late;
              const changed = await batch(statements);
              if (trouble === 'after') throw late;
              return changed;
            },
      async transaction(work) {
        if (trouble === 'before') throw late;
        const result = await database.transaction(work);
        if (trouble === 'after') throw late;
        return result;
      },
    };
    const log = createAuditLog({ database: shaky, clock: systemClock, scope });
    await log.append(entry());
    for (const kind of ['before', 'after'] as const) {
      trouble = kind;
      await expect(log.append(entry())).rejects.toMatchObject({ code: 'audit-unavailable' });
      trouble = 'none';
      await log.append(entry());
    }
    expect(await sequences()).toEqual(upTo(4));
  });

  test('more scopes than a writer remembers, one after the other and again: each continues its own chain', async () => {
    const access = createAccessLog({ database, clock: systemClock });
    const scopes = Array.from({ length: headsKept + 2 }, (_, index) => ({ tenantId: `t-${index}`, projectId: 'p' }));
    for (let round = 0; round < 2; round++) for (const each of scopes) await access.record(each, entry());
    for (const { tenantId } of scopes) expect(await sequences(tenantId), tenantId).toEqual([1, 2]);
  });

  test('each scope counts for itself', async () => {
    const second = createAuditLog({ database, clock: systemClock, scope: { tenantId: 'u', projectId: 'p' } });
    await createAuditLog({ database, clock: systemClock, scope }).append(entry());
    expect((await second.append(entry())).sequence).toBe(1);
    expect([await sequences('t'), await sequences('u')]).toEqual([[1], [1]]);
  });

  test('[audit §6] the database refuses to change or delete events and details', async () => {
    await createAuditLog({ database, clock: systemClock, scope }).append(entry({ details: { a: 1 } }));
    await expect(database.query.updateTable('audit_event').set({ subject_id: 'eve' }).execute()).rejects.toMatchObject({
      code: 'storage-unavailable',
    });
    await expect(database.query.deleteFrom('audit_event').execute()).rejects.toMatchObject({
      code: 'storage-unavailable',
    });
    await expect(database.query.updateTable('audit_details').set({ details: '{}' }).execute()).rejects.toMatchObject({
      code: 'storage-unavailable',
    });
    await expect(database.query.deleteFrom('audit_details').execute()).rejects.toMatchObject({
      code: 'storage-unavailable',
    });
    expect(await sequences()).toEqual([1]);
  });

  test('details are stored as canonical JSON beside the event, which contains their digest', async () => {
    await createAuditLog({ database, clock: systemClock, scope }).append(entry({ details: { b: 1, a: [2] } }));
    const details = await database.query.selectFrom('audit_details').select('details').executeTakeFirstOrThrow();
    const event = await database.query.selectFrom('audit_event').select('details_digest').executeTakeFirstOrThrow();
    expect(details.details).toBe('{"a":[2],"b":1}');
    expect(event.details_digest).toBe(sha256Hex('{"a":[2],"b":1}'));
  });

  test('a store that fails refuses every waiting append, and the next one works again', async () => {
    const log = createAuditLog({ database, clock: systemClock, scope });
    const full = () => Promise.reject(new Error('disk full'));
    const broken = { ...database, transaction: full, batch: full };
    const failing = createAuditLog({ database: broken, clock: systemClock, scope });
    const answers = await Promise.allSettled([failing.append(entry()), failing.append(entry())]);
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.code)).toEqual([
      'audit-unavailable',
      'audit-unavailable',
    ]);
    expect((await log.append(entry())).sequence).toBe(1);
  });

  test('batch_max, at its edge: as many appends share one commit, one more has its own', async () => {
    const batches: number[] = [];
    const limits = { ...auditLimits, batch_max: 3 };
    const onAppended = (events: number): void => void batches.push(events);
    const log = createAuditLog({ database, clock: systemClock, scope, limits, onAppended });
    await Promise.all(Array.from({ length: 3 }, () => log.append(entry())));
    expect(batches.splice(0)).toEqual([3]);
    await Promise.all(Array.from({ length: 4 }, () => log.append(entry())));
    expect(batches).toEqual([3, 1]);
    expect(await sequences()).toEqual(upTo(7));
  });

  test('waiting_appends_max: the queue of waiting appends is bounded, at its edge', async () => {
    const limits = { ...auditLimits, waiting_appends_max: 2 };
    const log = createAuditLog({ database, clock: systemClock, scope, limits });
    const answers = await Promise.allSettled([log.append(entry()), log.append(entry()), log.append(entry())]);
    expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(await sequences()).toEqual([1, 2]);
  });
});
