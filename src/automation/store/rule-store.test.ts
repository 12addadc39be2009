import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { openDatabase, openDatabaseApart } from '../../databases/site-database.ts';
import type { Database } from '../../storage/database.ts';
import { engines, type TestPlaces, testPlaces } from '../../testing/engines.ts';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { testAct } from '../../testing/tank-site.ts';
import { createRuleStore, type RuleStore } from './rule-store.ts';

describe.each(engines)('rules table on %s', (engine) => {
  let places: TestPlaces;
  let database: Database;
  let store: RuleStore;
  const clock = simulatedClock(1_700_000_000_000);
  beforeEach(async () => {
    places = await testPlaces(engine);
    database = openDatabase(places.site);
    await database.ready();
    store = createRuleStore(database, clock, 100);
  });
  afterEach(async () => {
    await database.close();
    await places.remove();
  });

  test('[rules §1.3] a new rule is a disabled stub with an empty topology and no editor document', async () => {
    const row = await store.create({ name: 'first' }, testAct);
    expect(row).toEqual({
      id: 1,
      name: 'first',
      description: null,
      enabled: false,
      mode: 'live',
      priority: 0,
      cooldown_ms: 0,
      trigger_config: null,
      flow_json: null,
      nodes_json: '{}',
      tests: null,
      key: null,
      applied_revision: null,
      revision: 1,
      created_at: '2023-11-14T22:13:20.000Z',
      updated_at: '2023-11-14T22:13:20.000Z',
    });
  });

  test('[rules §1.1] ids are never reused, not even that of the newest deleted rule', async () => {
    await store.create({ name: 'a' }, testAct);
    const second = await store.create({ name: 'b' }, testAct);
    await store.remove(second.id, testAct);
    expect((await store.create({ name: 'c' }, testAct)).id).toBe(3);
  });

  test('[rules §1.1] limits of priority and cooldown are stored exactly', async () => {
    const { id } = await store.create({ name: 'a' }, testAct);
    const { after } = await store.update(id, { priority: 4_294_967_295, cooldown_ms: 2 ** 53 - 1 }, testAct);
    expect([after.priority, after.cooldown_ms]).toEqual([4_294_967_295, 2 ** 53 - 1]);
    expect(await store.engineRules([id])).toMatchObject([{ priority: 4_294_967_295, cooldown_ms: 2 ** 53 - 1 }]);
  });

  test('[rules §2.3] a stale revision is refused and changes nothing', async () => {
    const { id } = await store.create({ name: 'a' }, testAct);
    const { after } = await store.update(id, { name: 'b' }, testAct, 1);
    expect(after.revision).toBe(2);
    await expect(
      store.update(id, { name: 'c', flow: { flow_json: '{}', nodes_json: '{"x":1}' } }, testAct, 1),
    ).rejects.toMatchObject({
      code: 'revision-conflict',
      details: { revision: 2, expected_revision: 1 },
    });
    expect(await store.get(id)).toEqual(after);
  });

  test('of many writers that expect one revision exactly one wins', async () => {
    const { id } = await store.create({ name: 'a' }, testAct);
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => store.update(id, { name: `writer ${index}` }, testAct, 1)),
    );
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    expect((await store.get(id))?.revision).toBe(2);
  });

  test('[rules §1.4] changes of one rule from two processes are all stored, each as a revision, and the answers have the stored state', async () => {
    const other = openDatabase(places.site);
    const stores = [store, createRuleStore(other, clock, 100)];
    const { id } = await store.create({ name: 'a' }, testAct);
    const updates = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        (stores[index % 2] ?? store).update(id, index % 3 === 0 ? { enabled: true } : { priority: index }, testAct),
      ),
    );
    expect(updates.map(({ after }) => after.revision).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 40 }, (_, index) => index + 2),
    );
    expect(updates.every(({ before, after }) => before.revision === after.revision - 1)).toBe(true);
    const kept = await database.query.selectFrom('rule_revision').select(['revision', 'priority', 'enabled']).execute();
    for (const { after } of updates)
      expect(kept).toContainEqual({
        revision: after.revision,
        priority: after.priority,
        enabled: after.enabled ? 1 : 0,
      });
    expect(kept).toHaveLength(41);
    expect(await store.get(id)).toEqual(updates.find(({ after }) => after.revision === 41)?.after);
    await other.close();
  });

  test('every change raises the revision, enable and disable too', async () => {
    const { id } = await store.create({ name: 'a' }, testAct);
    await store.update(id, { enabled: true }, testAct);
    await store.update(id, { enabled: false }, testAct);
    expect(await store.heads()).toMatchObject([{ id, revision: 3 }]);
  });

  test('unknown rules are not found', async () => {
    expect(await store.get(7)).toBeNull();
    await expect(store.update(7, { name: 'x' }, testAct)).rejects.toMatchObject({ code: 'not-found' });
    await expect(store.remove(7, testAct)).rejects.toMatchObject({ code: 'not-found' });
  });

  test('[rules §2.2] list: priority descending then id, pages, filter and search', async () => {
    for (const name of ['low', 'Peak shaving', 'high', 'also low', '100% _literal_'])
      await store.create({ name }, testAct);
    await store.update(3, { priority: 9, description: 'PEAK of the day' }, testAct);
    await store.update(2, { enabled: true, priority: 5 }, testAct);
    const all = { enabled: undefined, search: undefined };
    expect((await store.list(all, 1, 100)).rows.map((row) => row.id)).toEqual([3, 2, 1, 4, 5]);
    const page = await store.list(all, 2, 2);
    expect([page.total, page.rows.map((row) => row.id)]).toEqual([5, [1, 4]]);
    expect((await store.list(all, 9, 100)).rows).toEqual([]);
    expect((await store.list({ enabled: true, search: undefined }, 1, 9)).rows.map((row) => row.id)).toEqual([2]);
    expect((await store.list({ enabled: undefined, search: 'peak' }, 1, 9)).rows.map((row) => row.id)).toEqual([3, 2]);
    expect((await store.list({ enabled: false, search: 'peak' }, 1, 9)).total).toBe(1);
    expect((await store.list({ enabled: undefined, search: '0% _' }, 1, 9)).rows.map((row) => row.id)).toEqual([5]);
  });

  test('[rules §2.2] search: upper and lower case are alike in every script', async () => {
    await store.create({ name: 'ÄRGER', description: 'Überschuss' }, testAct);
    await store.create({ name: 'Ελλάδα' }, testAct);
    const found = async (search: string) => (await store.list({ search }, 1, 9)).rows.map((row) => row.id);
    expect(await found('ÄRGER')).toEqual([1]);
    expect(await found('ärger')).toEqual([1]);
    expect(await found('ÜBER')).toEqual([1]);
    expect(await found('ΕΛΛΆΔΑ')).toEqual([2]);
  });

  test('[rules §2.2] a page of the list is read without the documents, which may be large', async () => {
    await store.create({ name: 'a', description: 'b' }, testAct);
    expect((await store.list({}, 1, 9)).rows).toEqual([
      { id: 1, name: 'a', description: 'b', key: null, enabled: false, mode: 'live', priority: 0 },
    ]);
  });

  test('max_rules is the limit: the last fits, the next is refused', async () => {
    const small = createRuleStore(database, clock, 2);
    await small.create({ name: 'a' }, testAct);
    await small.create({ name: 'b' }, testAct);
    await expect(small.create({ name: 'c' }, testAct)).rejects.toMatchObject({ code: 'invalid-input' });
    expect(await small.heads()).toHaveLength(2);
  });

  test('engineRules answers more ids than one question takes', async () => {
    const big = createRuleStore(database, clock, 2000);
    for (let index = 0; index < 600; index++) await big.create({ name: `rule ${index}` }, testAct);
    const ids = (await big.heads()).map((head) => head.id);
    expect((await big.engineRules(ids)).map((rule) => rule.id)).toEqual(ids);
  });
});

test('[rules §2.2] a cached read is repeated after a change by any process, and each query has its own entry', async () => {
  const places = await testPlaces('sqlite');
  const database = await openDatabaseApart(places.site, systemClock, silentLog);
  const other = openDatabase(places.site);
  try {
    const store = createRuleStore(database, systemClock, 100);
    const list = async (search?: string, page = 1, pageSize = 1) => {
      const { rows, total } = await store.list({ search }, page, pageSize);
      return [total, ...rows.map(({ name }) => name)];
    };
    await store.create({ name: 'one' }, testAct);
    expect([await list(), await list()]).toEqual([
      [1, 'one'],
      [1, 'one'],
    ]);
    await createRuleStore(other, systemClock, 100).create({ name: 'two', priority: 1 }, testAct);
    expect([
      await list(),
      await list(undefined, 2),
      await list(undefined, 1, 2),
      await list('one'),
      await list('no'),
    ]).toEqual([[2, 'two'], [2, 'one'], [2, 'two', 'one'], [1, 'one'], [0]]);
    await store.update(1, { name: 'three' }, testAct);
    expect([await list(undefined, 2), await list('one')]).toEqual([[2, 'three'], [0]]);
  } finally {
    await other.close();
    await database.close();
    await places.remove();
  }
});
