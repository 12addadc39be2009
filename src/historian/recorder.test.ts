/** The recorder's queue, its looks and its retention, on a clock turned by hand and a store that can fail. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { type Log, silentLog } from '../base/log.ts';
import { createLiveTableWriter } from '../points/live-table.ts';
import { createPointMemory } from '../points/shared-memory.ts';
import { quality } from '../rules/snapshot.ts';
import { openHistoryWriter } from '../storage/history-database.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import type { Historian, HistoryRow } from './historian.ts';
import { historyLimits } from './limits.ts';
import { openHistorian } from './open-historian.ts';
import { startRecorder } from './recorder.ts';

const series = { instance: 2, point: 1 };
const dayMs = 86_400_000;
let folder = '';
let file = '';
let historian: Historian;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-recorder-'));
  file = join(folder, 'history.sqlite');
  historian = openHistorian(file, { ...historyLimits, lock_wait_ms: 0 });
});
afterEach(() => {
  historian.close();
  rmSync(folder, { recursive: true, force: true });
});

function rig(limits: Partial<typeof historyLimits> = {}, settings: { recordIntervalMs?: number } = {}) {
  const clock = simulatedClock();
  const memory = createPointMemory([{ channel: 0, writable: false }], 1);
  const table = createLiveTableWriter(memory, clock, [5000]);
  const said: string[] = [];
  const hear = (message: string): void => void said.push(message);
  const log: Log = { ...silentLog, info: hear, warn: hear, error: hear };
  const state = { full: false };
  const store: Historian = {
    ...historian,
    append(rows) {
      if (state.full) throw new Fault('storage-unavailable', 'full', { cause: new Error('database or disk is full') });
      return historian.append(rows);
    },
  };
  const recorder = startRecorder(
    {
      points: [{ index: 0, instance: 2, id: 1, maxAgeMs: 5000 }],
      tableSize: 1,
      memory,
      recordIntervalMs: settings.recordIntervalMs ?? 1000,
      retentionDays: 1,
      limits: { ...historyLimits, ...limits },
    },
    store,
    clock,
    log,
  );
  const publish = (value: number): void => table.publish([{ index: 0, value, quality: quality.good }]);
  /** One value a second, each seen by the look of its interval. */
  const seconds = (count: number, from = 0): void => {
    for (let index = 0; index < count; index++) {
      publish(from + index);
      clock.advance(1000);
    }
  };
  return { clock, publish, seconds, recorder, state, said };
}

const stored = (): HistoryRow[] => [...historian.export({ series })];
const values = (): (number | null)[] => stored().map((row) => row.value);

describe('decisions §2.6 recorder', () => {
  test('record_interval_ms: a point is recorded at least that often', () => {
    const { clock, publish, recorder } = rig({}, { recordIntervalMs: 500 });
    for (let index = 0; index < 40; index++) {
      publish(5);
      clock.advance(100);
    }
    recorder.stop();
    const times = stored().map((row) => row.eventMs);
    expect(times.length).toBeGreaterThanOrEqual(8);
    expect(Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)))).toBeLessThanOrEqual(500);
  });

  test('a change rings and is looked at, at most every look_interval_ms', async () => {
    const { clock, publish, recorder } = rig({ look_interval_ms: 100 }, { recordIntervalMs: 3_600_000 });
    const recorded = (): number => recorder.counts().recorded;
    clock.advance(100);
    publish(1);
    await expect.poll(recorded).toBe(1);
    clock.advance(1);
    publish(2);
    publish(3);
    // The bell is answered in some later turn; however late, the look is not before its time.
    const lookedMs = clock.monotonicMs() - 1;
    const secondAfterMs = async (): Promise<number> => {
      await expect.poll(() => (recorded() > 1 ? true : clock.advance(1)), { interval: 1 }).toBe(true);
      return clock.monotonicMs() - lookedMs;
    };
    expect(await secondAfterMs()).toBeGreaterThanOrEqual(100);
    recorder.stop();
    expect(values()).toEqual([1, 3]);
  });

  test('rows are stored within flush_interval_ms, and the rest at the stop', () => {
    const { clock, publish, recorder } = rig({ flush_interval_ms: 2500 });
    publish(1);
    clock.advance(2499);
    expect([recorder.counts().stored, recorder.counts().waiting]).toEqual([0, 1]);
    clock.advance(1);
    expect(values()).toEqual([1]);
    publish(2);
    recorder.stop();
    expect(values()).toEqual([1, 2]);
  });

  test('decisions §2.6 ingestion is when a row is stored: before that moment nobody could have known it', () => {
    const { clock, publish, recorder } = rig({ flush_interval_ms: 10_000 });
    const beganMs = clock.wallMs();
    publish(1);
    clock.advance(10_000);
    const [row] = stored();
    expect([row?.eventMs, row?.ingestedMs]).toEqual([beganMs, beganMs + 10_000]);
    expect([...historian.export({ series, knownAtMs: beganMs + 9999 })]).toEqual([]);
    recorder.stop();
  });

  test('a wall clock set back while rows wait makes none of them come from the future', () => {
    const { clock, publish, recorder } = rig({ flush_interval_ms: 10_000 });
    publish(1);
    clock.advance(1500);
    clock.jumpWall(-3_600_000);
    clock.advance(8500);
    recorder.stop();
    for (const row of stored()) expect(row.ingestedMs).toBeGreaterThanOrEqual(row.eventMs);
  });

  test('flush_rows bounds a transaction, and a queue that was left behind empties in the turns that follow', () => {
    const { clock, seconds, recorder, state } = rig({ flush_rows: 3 });
    state.full = true;
    seconds(10);
    state.full = false;
    const waiting = recorder.counts().waiting;
    expect(waiting).toBeGreaterThanOrEqual(9);
    clock.advance(historyLimits.flush_interval_ms);
    expect(recorder.counts().waiting).toBeLessThan(3);
    recorder.stop();
    expect(values()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('a full disk is told once and counted; recording goes on and nothing is lost', () => {
    const { seconds, recorder, state, said } = rig();
    seconds(2);
    state.full = true;
    seconds(5, 2);
    expect(said).toEqual(['history cannot be stored; it waits']);
    expect(recorder.counts()).toMatchObject({ failedFlushes: 5, dropped: 0 });
    state.full = false;
    seconds(2, 7);
    expect(said).toEqual(['history cannot be stored; it waits', 'history is stored again']);
    recorder.stop();
    expect(values()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('queue_rows: at the limit nothing is dropped, beyond it the oldest, and that is counted', () => {
    const { seconds, recorder, state, said } = rig({ queue_rows: 4 });
    state.full = true;
    seconds(4);
    expect(recorder.counts()).toMatchObject({ waiting: 4, dropped: 0 });
    seconds(3, 4);
    expect(recorder.counts()).toMatchObject({ waiting: 4, dropped: 3 });
    expect(said).toContain('history is lost: more rows wait than may');
    state.full = false;
    recorder.stop();
    expect(values()).toEqual([3, 4, 5, 6]);
  });

  test('a file that another process has locked is waited for, not given up', () => {
    const { seconds, recorder } = rig();
    seconds(1);
    const other = openHistoryWriter(file, 0);
    other.transaction(() => seconds(3, 1));
    expect(recorder.counts().failedFlushes).toBeGreaterThan(0);
    other.close();
    recorder.stop();
    expect(values()).toEqual([0, 1, 2, 3]);
  });

  test('§4.3 retention_days: older rows go, in portions', () => {
    const { clock, recorder } = rig({ prune_interval_ms: 60_000, prune_rows: 100 });
    const nowMs = clock.wallMs();
    const rows = Array.from({ length: 2 * 1440 }, (_, index): HistoryRow => {
      const atMs = nowMs - index * 60_000;
      return { series, eventMs: atMs, ingestedMs: atMs, value: index, quality: quality.good };
    });
    recorder.append(rows.toReversed());
    clock.advance(59_999);
    expect(recorder.counts().pruned).toBe(0);
    clock.advance(1);
    expect(recorder.counts().pruned).toBeGreaterThan(0);
    expect(recorder.counts().pruned).toBeLessThanOrEqual(120);
    clock.advance(60_000);
    const oldestMs = stored()[0]?.eventMs ?? 0;
    // Whole quarter hours go: up to one of them is kept longer, nothing is removed early.
    expect(oldestMs).toBeLessThanOrEqual(clock.wallMs() - dayMs);
    expect(oldestMs).toBeGreaterThan(clock.wallMs() - dayMs - 2 * 900_000);
    recorder.stop();
  });
});
