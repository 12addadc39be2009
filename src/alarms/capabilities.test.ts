import { describe, expect, test } from 'vitest';
import { alarmChangesMax } from '../api/alarms.ts';
import type { CallContext } from '../api/capability.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { type AlarmState, normalAlarm } from './alarm-state.ts';
import { type AlarmParts, alarmCapabilities } from './capabilities.ts';

const alarm = (id: string, more: Partial<AlarmState> = {}): AlarmState => ({
  ...normalAlarm({ id, name: id, priority: 'low', message: null, point: null, threshold: null }),
  ...more,
});

function bench(alarms: readonly AlarmState[], changes = 0) {
  const clock = simulatedClock();
  const parts = {
    keeper: { list: () => alarms },
    store: {
      between: async (_from: number, _to: number, limit: number) =>
        Array.from({ length: Math.min(limit, changes) }, (_, at) => ({
          sequence: at,
          id: 'a',
          state: 'normal',
          atMs: at,
          by: null,
          reason: null,
        })),
    },
    clock,
  } as unknown as AlarmParts;
  const [list, history] = alarmCapabilities(parts);
  const ask = async (which: typeof list, query: Readonly<Record<string, string>> = {}): Promise<unknown[]> => {
    const answer = await which?.handler({ params: {}, query } as unknown as CallContext);
    return Reflect.get(Object(Reflect.get(Object(answer?.data), 'data')), 'list') as unknown[];
  };
  return { ask, list, history };
}

describe('[alarms §4.1] the list of alarms', () => {
  test('by priority, the newest first; built-in alarms that were never raised are left out', async () => {
    const point = { instance: 1, point_type: 'measurement', point: 1 } as const;
    const { ask, list } = bench([
      alarm('never-raised'),
      alarm('own', { point }),
      alarm('old', { state: 'active-unacknowledged', count: 1, sinceMs: 1000 }),
      alarm('new', { state: 'active-unacknowledged', count: 1, sinceMs: 2000 }),
      alarm('worst', { priority: 'critical', count: 3 }),
    ]);
    const ids = async (query?: Readonly<Record<string, string>>) =>
      (await ask(list, query)).map((each) => Reflect.get(Object(each), 'id') as string);
    expect(await ids()).toEqual(['worst', 'new', 'old', 'own']);
    expect(await ids({ state: 'normal' })).toEqual(['worst', 'own']);
    expect(await ids({ priority: 'critical' })).toEqual(['worst']);
    expect(await ids({ priority: 'low', state: 'active-unacknowledged' })).toEqual(['new', 'old']);
  });

  test('`alarmChangesMax`, at its edge', async () => {
    const full = bench([], alarmChangesMax);
    expect(await full.ask(full.history)).toHaveLength(alarmChangesMax);
    const more = bench([], alarmChangesMax + 1);
    await expect(more.ask(more.history)).rejects.toMatchObject({ code: 'invalid-input' });
    expect(await more.ask(more.history, { limit: '10000' })).toHaveLength(alarmChangesMax);
  });
});
