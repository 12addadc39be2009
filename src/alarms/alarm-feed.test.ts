import { describe, expect, test } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { createAlarmFeed } from './alarm-feed.ts';
import { type AlarmState, type AlarmStateName, normalAlarm } from './alarm-state.ts';
import type { AlarmListener } from './keeper.ts';

const alarm = (id: string, state: AlarmStateName): AlarmState => ({
  ...normalAlarm({ id, name: id, priority: 'low', message: null, point: null, threshold: null }),
  state,
});

function bench() {
  const clock = simulatedClock();
  const listeners = new Set<AlarmListener>();
  const alarms = [alarm('a', 'active-unacknowledged'), alarm('b', 'normal')];
  const feed = createAlarmFeed(
    {
      list: () => alarms,
      onChange(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
    clock,
  );
  const sent: string[][] = [];
  const reader = { hasRoom: true };
  const push = (changed: readonly object[]): boolean => {
    if (reader.hasRoom) sent.push(changed.map((each) => `${Reflect.get(each, 'id')} ${Reflect.get(each, 'state')}`));
    return reader.hasRoom;
  };
  const change = (...changed: AlarmState[]): void => {
    for (const listener of listeners) listener(changed);
    clock.advance(0);
  };
  return { clock, feed, sent, reader, push, change, listeners };
}

describe('[alarms §4.3] alarms on the live stream', () => {
  test('first all listed alarms, then changes; only of the requested ones', () => {
    const { clock, feed, sent, push, change, listeners } = bench();
    const stopAll = feed.follow(undefined, push);
    clock.advance(0);
    expect(sent).toEqual([['a active-unacknowledged']]);
    change(alarm('b', 'active-unacknowledged'));
    expect(sent[1]).toEqual(['b active-unacknowledged']);
    stopAll();
    sent.length = 0;
    const stopOne = feed.follow(['b'], push);
    clock.advance(0);
    change(alarm('a', 'normal'));
    expect(sent).toEqual([['b normal']]);
    stopOne();
    change(alarm('b', 'shelved'));
    expect([sent.length, listeners.size]).toEqual([1, 0]);
    expect(() => feed.follow(['c'], push)).toThrow('unknown alarm c');
  });

  test('a reader without room gets the newest state of each alarm when it has room again', () => {
    const { clock, feed, sent, reader, push, change } = bench();
    reader.hasRoom = false;
    feed.follow(undefined, push);
    clock.advance(0);
    change(alarm('a', 'active-acknowledged'));
    change(alarm('a', 'normal'), alarm('b', 'shelved'));
    expect(sent).toEqual([]);
    reader.hasRoom = true;
    clock.advance(250);
    expect(sent).toEqual([['a normal', 'b shelved']]);
  });
});
