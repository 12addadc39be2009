/** Which accepted commands become rows [points §6.1]. */
import { describe, expect, test } from 'vitest';
import { createPointMemory } from '../points/shared-memory.ts';
import { CommandObserver } from './commands.ts';
import type { HistoryRow } from './historian.ts';

function rig(intervals = { recordIntervalMs: 500, repeatMs: 1000 }) {
  const memory = createPointMemory([{ channel: 0, writable: true }], 1);
  const observer = new CommandObserver([{ index: 0, instance: 3, id: 7 }], memory, intervals);
  const told = (rows: readonly HistoryRow[]) =>
    rows.map(({ eventMs, value, observations: stands }) =>
      stands === undefined ? [eventMs, value] : [eventMs, value, stands.count, stands.sinceMs],
    );
  const command = (value: number, atMs: number, wallMs = 1_000_000 + atMs) => {
    memory.commandedValue[0] = value;
    memory.commandedMs[0] = atMs;
    return told(observer.look({ monotonicMs: atMs + 5, wallMs: wallMs + 5 }));
  };
  return { memory, observer, command, told };
}

describe('[points §6.1] accepted commands', () => {
  test('a row when the value changes, and at intervals while it is repeated', () => {
    const { memory, observer, command } = rig();
    expect(observer.look({ monotonicMs: 0, wallMs: 1_000_000 })).toEqual([]);
    expect(command(5, 100)).toEqual([[1_000_100, 5]]);
    expect(observer.look({ monotonicMs: 200, wallMs: 1_000_200 })).toEqual([]);
    expect(command(5, 600)).toEqual([]);
    expect(command(5, 1099)).toEqual([]);
    expect(command(5, 1100)).toEqual([[1_001_100, 5, 3, 1_000_100]]);
    expect(command(6, 1150)).toEqual([[1_001_150, 6]]);
    expect(observer.look({ monotonicMs: 1200, wallMs: 0 })).toEqual([]);
    memory.commandedMs[0] = 9999;
    expect(observer.look({ monotonicMs: 9999, wallMs: 1_009_999 })).toMatchObject([
      { series: { instance: 3, point: 7, kind: 'action' } },
    ]);
  });

  test('commands of the value before have a row of their own when it changes', () => {
    const { command } = rig();
    command(5, 100);
    command(5, 400);
    command(5, 700);
    expect(command(6, 1000)).toEqual([
      [1_000_700, 5, 2, 1_000_100],
      [1_001_000, 6],
    ]);
  });

  test('commands more than two intervals apart have a row each', () => {
    const { command } = rig({ recordIntervalMs: 500, repeatMs: 60_000 });
    command(5, 100);
    expect(command(5, 1100)).toEqual([]);
    expect(command(5, 2101)).toEqual([
      [1_001_100, 5],
      [1_002_101, 5],
    ]);
  });

  test('commands without a row get one when their series is requested, and only once', () => {
    const { command, observer, told } = rig({ recordIntervalMs: 500, repeatMs: 60_000 });
    command(5, 100);
    command(5, 200);
    command(5, 300);
    const [own, other] = [
      { instance: 3, point: 7, kind: 'action' },
      { instance: 3, point: 7 },
    ] as const;
    expect(observer.pending(1_000_400, [other])).toEqual([]);
    expect(told(observer.pending(1_000_400, [own]))).toEqual([[1_000_300, 5, 2, 1_000_100]]);
    expect(observer.pending(1_000_400)).toEqual([]);
    command(5, 500);
    expect(told(observer.pending(1_000_600))).toEqual([[1_000_500, 5]]);
  });

  test('a wall clock that is set back makes no row that ends before it began', () => {
    const { command } = rig();
    command(5, 100);
    expect(command(5, 400, 900_000)).toEqual([]);
    expect(command(6, 700, 900_300)).toEqual([[900_300, 6]]);
  });
});
