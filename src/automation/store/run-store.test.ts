import fc from 'fast-check';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { firstIdAt } from '../../base/id.ts';
import { engines, type TestPlaces, testPlaces } from '../../testing/engines.ts';
import type { RunRow } from '../run-blocks.ts';
import { blocksBefore, createRunReader, createRunStore, holdsRuns, type RunStore, type StateRow } from './run-store.ts';
import { openRuntimeDatabase, type RuntimeDatabase } from './runtime-database.ts';

const idOf = (number: number): string => `0192a000-0000-7000-8000-${String(number).padStart(12, '0')}`;
const row = (ruleId: number, number: number, more: Partial<RunRow> = {}): RunRow => ({
  execution_id: idOf(number),
  rule_id: ruleId,
  unchanged: false,
  record: `"${number}"`,
  ...more,
});

const append = (store: RunStore, rows: RunRow[], states: StateRow[], gone: number[]): Promise<void> =>
  store.append({ rows, states, gone, claims: [], segments: [] });

describe.each(engines)('runtime database on %s', (engine) => {
  let places: TestPlaces;
  let database: RuntimeDatabase;
  beforeEach(async () => {
    places = await testPlaces(engine);
    database = openRuntimeDatabase(places.runtime);
    await database.ready();
  });
  afterEach(async () => {
    await database.close();
    await places.remove();
  });
  const all = async (ruleId: number) => createRunReader(database).page(ruleId, undefined, 100_000);

  test('[rules §2.6] history: newest first, pages by cursor, one rule only', async () => {
    const store = createRunStore(database);
    const reader = createRunReader(database);
    const rows = Array.from({ length: 250 }, (_, index) => row(1 + (index % 2), index));
    await append(store, rows, [], []);
    expect(await reader.page(1, undefined, 3)).toEqual(['"248"', '"246"', '"244"']);
    expect(await reader.page(1, idOf(244), 2)).toEqual(['"242"', '"240"']);
    expect(await reader.page(1, idOf(0), 2)).toEqual([]);
  });

  test.each([
    ['a run', { rows: [row(1, 1)] }],
    ['an owner of a point', { segments: [{ point: '1:action:1', from_ms: 0, to_ms: null, state: '{}' }] }],
  ])('holds something to be removed one day once there is %s', async (_, stored) => {
    expect(await holdsRuns(database)).toBe(false);
    await createRunStore(database).append({ rows: [], states: [], gone: [], claims: [], segments: [], ...stored });
    expect(await holdsRuns(database)).toBe(true);
  });

  test('a cursor whose run retention removed continues at the same place', async () => {
    const store = createRunStore(database);
    const reader = createRunReader(database);
    await append(store, [row(1, 1), row(1, 2)], [], []);
    await append(store, [row(1, 3), row(1, 4)], [], []);
    await store.pruneRule(1, 0, 1);
    expect(await reader.page(1, idOf(5), 10)).toEqual(['"4"']);
    expect(await reader.page(1, idOf(3), 10)).toEqual([]);
    expect(await reader.page(1, '00000000-0000-7000-8000-000000000000', 10)).toEqual([]);
  });

  test('[rules §2.6] a run stored late is listed in the order of its id, and pages show each run once', async () => {
    const store = createRunStore(database);
    const reader = createRunReader(database);
    await append(store, [row(1, 1), row(1, 4), row(1, 5)], [], []);
    await store.restore([row(1, 2), row(1, 3)]);
    expect(await reader.page(1, undefined, 3)).toEqual(['"5"', '"4"', '"3"']);
    expect(await reader.page(1, idOf(3), 3)).toEqual(['"2"', '"1"']);
    expect(await database.query.selectFrom('execution_block').select('runs').execute()).toEqual([{ runs: 5 }]);
  });

  test('[rules §2.6] a page is found in the index at its cursor, however old: no walk and no sorting', async () => {
    // For a table this small the planner would choose a full scan.
    const scans =
      engine === 'postgres' ? [sql`SET LOCAL enable_seqscan = off`, sql`SET LOCAL enable_bitmapscan = off`] : [];
    const plan = await database.query.transaction().execute(async (transaction) => {
      for (const each of scans) await each.execute(transaction);
      const page = blocksBefore(transaction, 1, 0, idOf(0)).limit(50);
      return JSON.stringify(await page.explain(undefined, engine === 'sqlite' ? sql`query plan` : undefined));
    });
    const found = {
      sqlite:
        /SEARCH execution_block USING INDEX execution_block_of_rule \(rule_id=\? AND unchanged=\? AND last_id<\?\)/,
      postgres:
        /Index Scan Backward using execution_block_of_rule.*Index Cond: \(\(rule_id = .*\) AND \(unchanged = .*\) AND \(last_id < /,
    };
    expect(plan).toMatch(found[engine]);
    expect(plan).not.toMatch(/sort|b-tree|filter/i);
  });

  test('[rules §7.5] retention: the newest 1000 unchanged runs stay, and all others up to their own limit', async () => {
    const store = createRunStore(database);
    const unchanged = Array.from({ length: 1005 }, (_, index) => row(1, index, { unchanged: true }));
    const acted = Array.from({ length: 12 }, (_, index) => row(1, 2000 + index));
    await append(
      store,
      [...acted.slice(0, 6), ...unchanged, ...acted.slice(6), row(2, 9000, { unchanged: true })],
      [],
      [],
    );
    await store.pruneRule(1, 1000, 10);
    const left = (await all(1)).map((text) => Number(JSON.parse(text)));
    expect(left.filter((number) => number < 2000).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 1000 }, (_, index) => index + 5),
    );
    expect(left.filter((number) => number >= 2000).toSorted()).toEqual(
      Array.from({ length: 10 }, (_, index) => 2002 + index),
    );
    expect(await all(2)).toHaveLength(1);
  });

  test('[rules §7.5] runs of a clock that was ahead do not crowd out those stored after them', async () => {
    const store = createRunStore(database);
    const reader = createRunReader(database);
    await append(store, [row(1, 8001), row(1, 8002), row(1, 8003), row(1, 8004)], [], []);
    await append(store, [row(1, 1), row(1, 2)], [], []);
    await store.pruneRule(1, 0, 3);
    expect(await reader.page(1, undefined, 9)).toEqual(['"8004"', '"2"', '"1"']);
    await append(store, [row(1, 3), row(1, 4)], [], []);
    await store.pruneRule(1, 0, 3);
    expect(await reader.page(1, undefined, 9)).toEqual(['"4"', '"3"', '"2"']);
  });

  test('[rules §7.5] blocks that are older than the limit go, the oldest first, a bounded number at a time', async () => {
    const store = createRunStore(database);
    const at = (ms: number) => ({ execution_id: `${firstIdAt(1_700_000_000_000 + ms)}-7000-8000-000000000000` });
    for (let number = 0; number < 10; number++) await append(store, [row(1, number, at(number))], [], []);
    expect(await store.pruneBefore(1_700_000_000_007, 5)).toBe(5);
    expect(await store.pruneBefore(1_700_000_000_007, 5)).toBe(2);
    expect(await all(1)).toEqual(['"9"', '"8"', '"7"']);
  });

  test('[rules §2.6] any batches in any order: each run once, pages of any size show all of them, the newest first', async () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ numbers, unchanged: fc.boolean() }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        async (batches, size) => {
          await database.query.deleteFrom('execution_block').execute();
          const store = createRunStore(database);
          const reader = createRunReader(database);
          // A run is counted once for its kind, however often it is stored.
          const kinds = new Map<number, boolean>();
          for (const batch of batches) {
            for (const number of batch.numbers) kinds.set(number, kinds.get(number) ?? batch.unchanged);
            await store.restore(
              batch.numbers.map((number) => row(1, number, { unchanged: kinds.get(number) ?? false })),
            );
          }
          const seen: string[] = [];
          for (let before: string | undefined; ; ) {
            const page = await reader.page(1, before, size);
            if (page.length === 0) break;
            seen.push(...page);
            before = idOf(Number(JSON.parse(page.at(-1) ?? '')));
          }
          const expected = [...kinds.keys()].toSorted((a, b) => b - a).map((number) => `"${number}"`);
          expect(seen).toEqual(expected);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('[rules §7.5] a batch whose commit was not answered is appended again: each run once, and the newer states', async () => {
    const store = createRunStore(database);
    const batch = [row(1, 1), row(2, 2)];
    await append(store, batch, [{ rule_id: 1, state: 'a' }], []);
    await append(store, [...batch, row(1, 3)], [{ rule_id: 1, state: 'b' }], []);
    expect(await all(1)).toEqual(['"3"', '"1"']);
    expect(await all(2)).toEqual(['"2"']);
    expect(await store.states()).toEqual([{ rule_id: 1, state: 'b' }]);
  });

  test('runs and states are one transaction: a run that cannot be stored takes the states with it', async () => {
    const store = createRunStore(database);
    await append(store, [row(1, 1)], [{ rule_id: 1, state: 'a' }], []);
    // No engine accepts a rule id that is not a whole number.
    await expect(append(store, [row(1.5, 2)], [{ rule_id: 1, state: 'b' }], [])).rejects.toThrow();
    expect(await store.states()).toEqual([{ rule_id: 1, state: 'a' }]);
    await append(
      store,
      [],
      [
        { rule_id: 1, state: 'c' },
        { rule_id: 2, state: 'd' },
      ],
      [],
    );
    await append(store, [], [], [2]);
    expect(await store.states()).toEqual([{ rule_id: 1, state: 'c' }]);
  });

  test('[rules §6.2] the newest claim on each point is stored', async () => {
    const store = createRunStore(database);
    const claim = (point: string, state: string) => ({
      rows: [],
      states: [],
      gone: [],
      claims: [{ point, state }],
      segments: [],
    });
    await store.append(claim('1:action:1', 'a'));
    await store.append(claim('1:action:2', 'b'));
    await store.append(claim('1:action:1', 'c'));
    expect((await store.claims()).toSorted((x, y) => x.point.localeCompare(y.point))).toEqual([
      { point: '1:action:1', state: 'c' },
      { point: '1:action:2', state: 'b' },
    ]);
  });
});
