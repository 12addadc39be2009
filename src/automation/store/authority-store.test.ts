/** Overrides and the account of ownership in the runtime database, on each engine [points §7]. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Grant } from '../../rules/authority.ts';
import { engines, type TestPlaces, testPlaces } from '../../testing/engines.ts';
import { createAuthorityReader, createAuthorityStore, readAuthority, type SegmentRow } from './authority-store.ts';
import { createRunStore } from './run-store.ts';
import { openRuntimeDatabase, type RuntimeDatabase } from './runtime-database.ts';

const grant = (id: string): Grant => ({
  kind: 'override',
  id,
  instance: 1,
  point: 1,
  value: 0.1,
  fromMs: 1000,
  untilMs: 2000,
  by: { kind: 'user', id: 'ada' },
  reason: 'a test',
});
const point = '1:action:1';
const segment = (fromMs: number, toMs: number | null, state = '{}'): SegmentRow => ({
  point,
  from_ms: fromMs,
  to_ms: toMs,
  state,
});

describe.each(engines)('[points §7] authority in the runtime database on %s', (engine) => {
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
  const store = (segments: readonly SegmentRow[]): Promise<void> =>
    createRunStore(database).append({ rows: [], states: [], gone: [], claims: [], segments });

  test('a grant is read back unchanged; the one that it replaces is removed in the same transaction', async () => {
    const authority = createAuthorityStore(database);
    await authority.put(grant('a'), []);
    await authority.put(grant('b'), ['a']);
    expect((await readAuthority(database)).grants).toEqual([grant('b')]);
    await authority.remove([]);
    await authority.remove(['a', 'b']);
    expect((await readAuthority(database)).grants).toEqual([]);
  });

  test('a grant and its end are on the disk before they are answered; a disk that refuses changes nothing', async () => {
    let syncs = 0;
    const state = { refuses: false };
    const sync = (): void => {
      if (state.refuses) throw new Error('the disk does not answer');
      syncs++;
    };
    const authority = createAuthorityStore({ ...database, sync });
    await authority.put(grant('a'), []);
    expect(syncs).toBe(1);
    await authority.remove(['a']);
    expect(syncs).toBe(2);
    await authority.put(grant('a'), []);
    state.refuses = true;
    const unanswered = 'the disk does not answer';
    await expect(authority.put(grant('b'), [])).rejects.toThrow(unanswered);
    await expect(authority.put(grant('b'), ['a'])).rejects.toThrow(unanswered);
    await expect(authority.remove(['a'])).rejects.toThrow(unanswered);
    // It was refused, so none of it is there after the next start.
    expect((await readAuthority(database)).grants).toEqual([grant('a')]);
    // What the writer's own handle does: neither engine reports anything.
    expect(() => database.sync()).not.toThrow();
  });

  test('a window contains the segments that overlap it, as a half-open span, up to the limit', async () => {
    await store([segment(0, 10), segment(10, 20), segment(20, null)]);
    const read = async (fromMs: number, toMs: number, limit = 9) =>
      (await createAuthorityReader(database).segments(point, fromMs, toMs, limit)).map(({ from_ms: at }) => at);
    expect(await read(0, 21)).toEqual([0, 10, 20]);
    expect(await read(10, 20)).toEqual([10]);
    expect(await read(9, 11)).toEqual([0, 10]);
    expect(await read(1000, 1001)).toEqual([20]);
    expect(await read(0, 21, 2)).toEqual([0, 10]);
    expect((await readAuthority(database)).open).toEqual([segment(20, null)]);
  });

  test('the newest state of a segment is stored; only ended segments are removed, in batches', async () => {
    await store([segment(0, null, '{"value":1}')]);
    await store([segment(0, 10, '{"value":2}'), segment(10, 20), segment(20, null)]);
    const runs = createRunStore(database);
    expect(await runs.pruneSegments(10, 9)).toBe(0);
    expect(await runs.pruneSegments(11, 9)).toBe(1);
    expect(await runs.pruneSegments(1000, 1)).toBe(1);
    expect(await runs.pruneSegments(1000, 1)).toBe(0);
    expect(await createAuthorityReader(database).segments(point, 0, 1000, 9)).toEqual([segment(20, null)]);
  });
});
