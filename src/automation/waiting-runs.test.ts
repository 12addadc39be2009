import { describe, expect, test } from 'vitest';
import { blockRunsMaximum, type RunRow } from './run-blocks.ts';
import { WaitingRuns } from './waiting-runs.ts';

const limits = { record_queue: 1000, record_queue_bytes: 1_000_000 };
const row = (ruleId: number, number: number, record = '1'): RunRow => ({
  execution_id: `run-${number}`,
  rule_id: ruleId,
  unchanged: false,
  record,
});
const ids = (rows: readonly RunRow[]): string[] => rows.map(({ execution_id }) => execution_id);

describe('runs that wait to be stored together', () => {
  test('wait for the block time of the oldest of their rule, and not longer', () => {
    const runs = new WaitingRuns(limits, 1000);
    expect(runs.dueIn(0)).toBeNull();
    runs.push(row(1, 1), 0);
    runs.push(row(2, 2), 400);
    runs.push(row(1, 3), 900);
    expect(runs.dueIn(999)).toBe(1);
    expect(runs.take(999, 10)).toEqual([]);
    expect(runs.dueIn(1000)).toBe(0);
    expect(ids(runs.take(1000, 10))).toEqual(['run-1', 'run-3']);
    runs.stored();
    expect([runs.dueIn(1000), runs.length]).toEqual([400, 1]);
  });

  test('wait no longer when a block is full, when their rule is requested, or when half of the queue is full', () => {
    const full = new WaitingRuns(limits, 1000);
    for (let number = 1; number < blockRunsMaximum; number++) full.push(row(1, number), 0);
    expect(full.dueIn(0)).toBe(1000);
    full.push(row(1, 999), 0);
    expect(full.dueIn(0)).toBe(0);
    const asked = new WaitingRuns(limits, 1000);
    asked.push(row(1, 1), 0);
    asked.push(row(2, 2), 0);
    asked.ask(2);
    expect(ids(asked.take(0, 10))).toEqual(['run-2']);
    const crowded = new WaitingRuns({ ...limits, record_queue: 4 }, 1000);
    for (let number = 1; number <= 2; number++) crowded.push(row(number, number), 0);
    expect(crowded.dueIn(0)).toBe(1000);
    crowded.push(row(3, 3), 0);
    expect(crowded.dueIn(0)).toBe(0);
    const large = new WaitingRuns({ ...limits, record_queue_bytes: 10 }, 1000);
    large.push(row(1, 1, '12345'), 0);
    expect(large.dueIn(0)).toBe(1000);
    large.push(row(1, 2, '6'), 0);
    expect(large.dueIn(0)).toBe(0);
  });

  test('rows that a store refused go before the others; beyond the limit the oldest are dropped', () => {
    const runs = new WaitingRuns({ ...limits, record_queue: 3 }, 0);
    runs.push(row(1, 1), 0);
    runs.push(row(2, 2), 0);
    expect(ids(runs.take(0, 1))).toEqual(['run-1']);
    runs.push(row(1, 3), 0);
    runs.putBack(0);
    expect([runs.length, runs.settled]).toEqual([3, 0]);
    runs.push(row(3, 4), 0);
    expect([runs.length, runs.dropped, runs.settled]).toEqual([3, 1, 1]);
    expect(ids(runs.remove())).toEqual(['run-2', 'run-3', 'run-4']);
    expect([runs.length, runs.settled]).toEqual([0, 4]);
  });

  test('a row that is larger than the whole queue is dropped', () => {
    const runs = new WaitingRuns({ ...limits, record_queue_bytes: 3 }, 1000);
    runs.push(row(1, 1, '1234'), 0);
    expect([runs.length, runs.dropped, runs.dueIn(0)]).toEqual([0, 1, null]);
  });

  test('tells which runs of a rule are not stored yet', () => {
    const runs = new WaitingRuns(limits, 0);
    runs.push(row(1, 1), 0);
    runs.push(row(2, 2), 0);
    runs.take(0, 1);
    expect([runs.holds(1, 1), runs.holds(1, 0), runs.holds(2, 1), runs.holds(2, 2)]).toEqual([
      true,
      false,
      false,
      true,
    ]);
    runs.stored();
    expect(runs.holds(1, 2)).toBe(false);
  });
});
