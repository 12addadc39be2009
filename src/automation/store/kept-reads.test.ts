/** Cached reads are used only while the database is unchanged, and within a bound. */
import { expect, test } from 'vitest';
import { KeptReads, keptCharactersMax } from './kept-reads.ts';
import type { RuleRow } from './rule-table.ts';

const row = (id: number, characters = 0): RuleRow => ({
  id,
  name: `rule ${id}`,
  description: null,
  key: null,
  applied_revision: null,
  enabled: true,
  mode: 'live',
  priority: 0,
  cooldown_ms: 0,
  trigger_config: null,
  flow_json: null,
  nodes_json: 'x'.repeat(characters),
  tests: null,
  revision: 1,
  created_at: '',
  updated_at: '',
});

const charactersOf = ({ nodes_json }: RuleRow): number => nodes_json.length;

/** A database of rows, the queries it got, and its version. */
function database(rows: Map<number, RuleRow>) {
  const asked: number[] = [];
  const state = { version: 1 as number | null };
  const kept = new KeptReads<number, RuleRow>(() => state.version, charactersOf);
  const get = (id: number) =>
    kept.get(id, async () => {
      asked.push(id);
      return rows.get(id) ?? null;
    });
  return { asked, state, get };
}

test('a row is read once while nothing changes, and again after any change', async () => {
  const rows = new Map([1, 2].map((id) => [id, row(id)]));
  const { asked, state, get } = database(rows);
  expect(await get(1)).toBe(rows.get(1));
  expect(await get(1)).toBe(rows.get(1));
  expect(asked).toEqual([1]);
  state.version = 2;
  rows.set(1, { ...row(1), revision: 2 });
  expect(await get(1)).toMatchObject({ revision: 2 });
  expect(asked).toEqual([1, 1]);
});

test('a missing rule is read every time', async () => {
  const { asked, get } = database(new Map());
  expect([await get(7), await get(7)]).toEqual([null, null]);
  expect(asked).toEqual([7, 7]);
});

test('without change detection nothing is cached', async () => {
  const { asked, state, get } = database(new Map([[1, row(1)]]));
  state.version = null;
  await get(1);
  await get(1);
  expect(asked).toEqual([1, 1]);
});

test('a row that changes while it is read is read again', async () => {
  const state = { version: 1 };
  const kept = new KeptReads<number, RuleRow>(() => state.version, charactersOf);
  // The old row is read, and the change is committed before the answer arrives.
  const old = kept.get(1, async () => {
    const found = row(1);
    state.version = 2;
    return found;
  });
  expect(await old).toMatchObject({ revision: 1 });
  expect(await kept.get(1, async () => ({ ...row(1), revision: 2 }))).toMatchObject({ revision: 2 });
  // A slow read from before the change must not be served as the current row.
  expect(await kept.get(1, () => Promise.reject(new Error('asked again')))).toMatchObject({ revision: 2 });
});

test('a slow read that ends after a change is not kept', async () => {
  const state = { version: 1 };
  const kept = new KeptReads<number, RuleRow>(() => state.version, charactersOf);
  const { promise, resolve } = Promise.withResolvers<RuleRow>();
  const slow = kept.get(1, () => promise);
  state.version = 2;
  await kept.get(2, async () => row(2));
  resolve(row(1));
  expect(await slow).toMatchObject({ revision: 1 });
  expect(await kept.get(1, async () => ({ ...row(1), revision: 2 }))).toMatchObject({ revision: 2 });
});

test('at the limit the least recently used entry is removed, and a row that exceeds the limit alone is not cached', async () => {
  const half = keptCharactersMax / 2;
  const rows = new Map(
    [row(1, half), row(2, half), row(3, 1), row(4, keptCharactersMax + 1)].map((each) => [each.id, each]),
  );
  const { asked, get } = database(rows);
  for (const id of [1, 2, 1]) await get(id);
  expect(asked).toEqual([1, 2]);
  await get(3);
  for (const id of [1, 3, 2]) await get(id);
  expect(asked).toEqual([1, 2, 3, 2]);
  await get(4);
  await get(4);
  expect(asked.slice(4)).toEqual([4, 4]);
});
