import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../databases/site-database.ts';
import type { Database } from '../../storage/database.ts';
import { engines, type TestPlaces, testPlaces } from '../../testing/engines.ts';
import { type AlarmState, normalAlarm } from '../alarm-state.ts';
import { type AlarmChange, createAlarmStore } from './alarm-store.ts';

const alarm = (id: string, more: Partial<AlarmState> = {}): AlarmState => ({
  ...normalAlarm({ id, name: id, priority: 'low', message: null, point: null, threshold: null }),
  ...more,
});
const change = (id: string, atMs: number, more: Partial<AlarmState> = {}): AlarmChange => ({
  alarm: alarm(id, { state: 'active-unacknowledged', ...more }),
  atMs,
  by: null,
  reason: null,
});

describe.each(engines)('alarms stored in %s', (engine) => {
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

  test('a step reads the stored state; states and changes are stored together, in one order', async () => {
    const store = createAlarmStore(database);
    expect([await store.all(), await store.lastSequence()]).toEqual([[], 0]);
    await store.put([change('a', 10), change('b', 11), change('a', 12, { count: 2 })]);
    expect((await store.all()).map(({ id, count }) => [id, count])).toEqual([
      ['a', 2],
      ['b', 0],
    ]);
    const by = { kind: 'user', id: 'ada' };
    await store.change(['a', 'missing'], (stored) => {
      expect([...stored.keys()]).toEqual(['a']);
      return [{ ...change('a', 13, { state: 'active-acknowledged' }), by, reason: 'seen' }];
    });
    const after = await store.after(2, 10);
    expect(after.map(({ sequence, id, state, by: who, reason }) => [sequence, id, state, who, reason])).toEqual([
      [3, 'a', 'active-unacknowledged', null, null],
      [4, 'a', 'active-acknowledged', by, 'seen'],
    ]);
    expect((await store.between(11, 13, 10)).map(({ sequence }) => sequence)).toEqual([2, 3]);
    expect((await store.between(10, 14, 2)).map(({ sequence }) => sequence)).toEqual([3, 4]);
    expect(await store.lastSequence()).toBe(4);
  });

  test('a step that throws stores nothing; many changes are stored at once', async () => {
    const store = createAlarmStore(database);
    await expect(
      store.change(['a'], () => {
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await store.lastSequence()).toBe(0);
    const many = Array.from({ length: 1201 }, (_, at) => change(`alarm-${at}`, at));
    await store.change(
      many.map(({ alarm: { id } }) => id),
      () => many,
    );
    expect([(await store.all()).length, await store.lastSequence()]).toEqual([1201, 1201]);
  });

  test('two that change the same alarm at once change it one after the other', async () => {
    const store = createAlarmStore(database);
    await store.put([change('a', 1)]);
    const count = () => store.change(['a'], (stored) => [change('a', 2, { count: (stored.get('a')?.count ?? 0) + 1 })]);
    await Promise.all([count(), count(), count()]);
    expect((await store.all()).map((each) => each.count)).toEqual([3]);
    expect((await store.after(0, 10)).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
  });

  test('retention by age and by rows (`history_rows_max`), at its edges; the sequence continues', async () => {
    const store = createAlarmStore(database);
    await store.put([1, 2, 3, 4, 5].map((atMs) => change('a', atMs)));
    await store.prune(2, 5);
    expect((await store.after(0, 10)).map(({ sequence }) => sequence)).toEqual([2, 3, 4, 5]);
    await store.prune(0, 2);
    expect((await store.after(0, 10)).map(({ sequence }) => sequence)).toEqual([4, 5]);
    await store.put([change('a', 6)]);
    expect(await store.lastSequence()).toBe(6);
  });

  test('a clean shutdown is recorded, and the position of each receiver', async () => {
    const store = createAlarmStore(database);
    expect(await store.control(true)).toBe(false);
    expect(await store.control(true)).toBe(true);
    expect(await store.control(false)).toBe(true);
    expect(await store.control(true)).toBe(false);
    expect(await store.taken('https://a.example/')).toBeNull();
    await store.take('https://a.example/', 3);
    await store.take('https://a.example/', 7);
    expect(await store.taken('https://a.example/')).toBe(7);
  });
});
