/** Revisions of rules [rules §1.4], on both engines. */
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { siteSchema } from '../../databases/schemas.ts';
import { openDatabase } from '../../databases/site-database.ts';
import type { Database } from '../../storage/database.ts';
import { engines, type TestPlaces, testPlaces } from '../../testing/engines.ts';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { testAct } from '../../testing/tank-site.ts';
import { createRevisionReader, type RevisionReader, type RuleAct, ruleDigest } from './revision-store.ts';
import { revisionsInFile } from './revision-table.ts';
import { createRuleStore, type RuleStore } from './rule-store.ts';

const act = (action: string, more: Partial<RuleAct> = {}): RuleAct => ({
  ...testAct,
  action: `automation.rule.${action}`,
  ...more,
});

test('[rules §1.4] a database from before has the present state of each rule as its first revision', async () => {
  const folder = await testPlaces('sqlite');
  const file = String(folder.site);
  const format = siteSchema.file.indexOf(revisionsInFile);
  const older = new DatabaseSync(file);
  for (const step of siteSchema.file.slice(0, format)) {
    if (typeof step === 'string') older.exec(step);
    else step(older);
  }
  older.exec(`PRAGMA user_version = ${format}`);
  older.exec(
    `INSERT INTO rules VALUES (4, 'old', NULL, 1, 2, 3, NULL, NULL, '{}', 9, '2025-01-01T00:00:00.000Z', '2025-02-01T00:00:00.000Z')`,
  );
  older.close();
  const database = openDatabase(file);
  const reader = createRevisionReader(database);
  const rule = await createRuleStore(database, simulatedClock(), 3).get(4);
  if (rule === null) throw new Error('the rule is there');
  expect(await reader.get(4)).toEqual({
    row: rule,
    head: {
      revision: 9,
      name: 'old',
      enabled: true,
      mode: 'live',
      digest: ruleDigest(rule),
      action: null,
      author: null,
      at: '2025-02-01T00:00:00.000Z',
      correlation_id: null,
      reason: null,
      restored_from: null,
    },
  });
  expect(await reader.page(4, undefined, 5)).toMatchObject([{ revision: 9, digest: ruleDigest(rule) }]);
  await database.close();
  await folder.remove();
});

describe.each(engines)('revisions of rules on %s', (engine) => {
  let places: TestPlaces;
  let database: Database;
  let store: RuleStore;
  let reader: RevisionReader;
  const clock = simulatedClock(1_700_000_000_000);
  beforeEach(async () => {
    places = await testPlaces(engine);
    database = openDatabase(places.site);
    await database.ready();
    store = createRuleStore(database, clock, 3);
    reader = createRevisionReader(database);
  });
  afterEach(async () => {
    await database.close();
    await places.remove();
  });

  const flow = (text: string) => ({ flow_json: `{"flow":"${text}"}`, nodes_json: `{"2":"${text}","1":0}` });

  test('[rules §1.4] each change is one revision, with author, reason and audit', async () => {
    const { id } = await store.create({ name: 'a' }, act('create'));
    clock.advance(1000);
    await store.update(id, { flow: flow('x'), priority: 3 }, act('update', { reason: 'peak shaving' }));
    await store.update(id, { enabled: true }, act('enable', { author: { kind: 'service-account', id: 'ci' } }));
    const removed = await store.remove(id, act('delete', { reason: '' }));
    expect(removed.revision).toBe(3);
    const page = await reader.page(id, undefined, 10);
    expect(page.map(({ revision, action, reason, author }) => [revision, action, reason, author?.id])).toEqual([
      [4, 'automation.rule.delete', '', 'tester'],
      [3, 'automation.rule.enable', null, 'ci'],
      [2, 'automation.rule.update', 'peak shaving', 'tester'],
      [1, 'automation.rule.create', null, 'tester'],
    ]);
    expect(page[2]).toEqual({
      revision: 2,
      name: 'a',
      enabled: false,
      mode: 'live',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      action: 'automation.rule.update',
      author: { kind: 'user', id: 'tester' },
      at: '2023-11-14T22:13:21.000Z',
      correlation_id: testAct.correlationId,
      reason: 'peak shaving',
      restored_from: null,
    });
    // A deletion keeps the rule's last state; whether a rule is enabled is not part of its digest.
    expect((await reader.get(id))?.row).toEqual({ ...removed, revision: 4 });
    expect(new Set(page.slice(0, 3).map(({ digest }) => digest)).size).toBe(1);
    expect((await reader.get(id, 1))?.row.flow_json).toBeNull();
    expect(await reader.get(id, 5)).toBeNull();
    expect(await reader.page(id, 3, 1)).toEqual([page[2]]);
  });

  test('[rules §10.3] revisions have the same logic independent of their names, drawings and tests', async () => {
    const { id } = await store.create({ name: 'a' }, act('create'));
    const drawn = (x: number, text: string) => ({ flow_json: `{"x":${x}}`, nodes_json: flow(text).nodes_json });
    await store.update(id, { flow: drawn(1, 'n'), trigger_config: '{"t":1}' }, act('update'));
    await store.update(id, { name: 'b', description: 'c', flow: drawn(2, 'n'), tests: '[]' }, act('update'));
    await store.update(id, { flow: drawn(2, 'other') }, act('update'));
    await store.update(id, { flow: drawn(3, 'n'), enabled: true }, act('update'));
    const alike = async (most = 100): Promise<number[]> => {
      const newest = await reader.get(id);
      return newest === null ? [] : reader.runningAs(newest.row, most);
    };
    expect(await alike()).toEqual([5, 3, 2]);
    expect(await alike(3)).toEqual([5, 3]);
    for (const change of [{ priority: 1 }, { cooldown_ms: 1 }, { trigger_config: null }, { mode: 'shadow' as const }]) {
      await store.update(id, change, act('update'));
      expect(await alike()).toHaveLength(1);
    }
  });

  test('[rules §1.4] restoring gives the same bytes, and a deleted rule its own id, disabled', async () => {
    const { id } = await store.create({ name: 'a', description: 'first' }, act('create'));
    const { after: kept } = await store.update(id, { flow: flow('x'), trigger_config: '{"t":1}' }, act('update'));
    await store.update(id, { name: 'b', description: null, flow: flow('y'), trigger_config: null }, act('update'));
    await store.update(id, { enabled: true }, act('enable'));
    const { name, description, priority, cooldown_ms, trigger_config, flow_json, nodes_json } = kept;
    const content = { name, description, priority, cooldown_ms, trigger_config, flow: { flow_json, nodes_json } };
    const restored = act('restore', { restoredFrom: 2 });
    const { after } = await store.restore(id, content, restored, 4);
    expect(after).toEqual({ ...kept, enabled: true, revision: 5, updated_at: after.updated_at });
    const first = await reader.get(id, 2);
    const last = await reader.get(id);
    expect([last?.head.restored_from, last?.head.digest]).toEqual([2, first?.head.digest]);

    await store.remove(id, act('delete'));
    await store.create({ name: 'c' }, act('create'));
    await expect(store.restore(id, content, restored, 5)).rejects.toMatchObject({ code: 'revision-conflict' });
    const back = await store.restore(id, content, restored, 6);
    expect(back).toMatchObject({ before: null, after: { id, enabled: false, revision: 7, nodes_json } });
    expect((await store.create({ name: 'd' }, act('create'))).id).toBe(3);
    await expect(store.restore(9, content, restored)).rejects.toMatchObject({ code: 'not-found' });
    await store.remove(id, act('delete'));
    await store.create({ name: 'e' }, act('create'));
    await expect(store.restore(id, content, restored)).rejects.toMatchObject({ code: 'invalid-input' });
  });

  test('[rules §1.4] a refused change keeps no revision, and revisions are never changed or removed', async () => {
    const { id } = await store.create({ name: 'a' }, act('create'));
    await expect(store.update(id, { name: 'b' }, act('update'), 7)).rejects.toMatchObject({
      code: 'revision-conflict',
    });
    expect(await reader.page(id, undefined, 10)).toHaveLength(1);
    const change = database.query.updateTable('rule_revision').set({ name: 'forged' }).execute();
    await expect(change).rejects.toThrow();
    await expect(database.query.deleteFrom('rule_revision').execute()).rejects.toThrow();
    expect((await reader.get(id))?.row.name).toBe('a');
  });
});
