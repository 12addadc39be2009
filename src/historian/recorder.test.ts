/** The recorder's queue, its looks and its retention, on a manual clock and a store that can fail. */
import { beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { type Log, silentLog } from '../base/log.ts';
import { createLiveTableWriter } from '../points/live-table.ts';
import { createPointMemory } from '../points/shared-memory.ts';
import { quality } from '../site/quality.ts';
import { retentionCell } from '../storage/retention-clock.ts';
import { noJournal } from '../storage/row-journal.ts';
import { engines } from '../testing/engines.ts';
import { exportedRows, historyOn, testHistoryLimits } from '../testing/histories.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import type { Historian, HistoryRow } from './historian.ts';
import { historyLimits } from './limits.ts';
import { startRecorder } from './recorder.ts';

const series = { instance: 2, point: 1 };
const dayMs = 86_400_000;
/** Lets the work that a step of time began finish before the next step. */
const stepMs = 100;
let historian: Historian;

interface Settings {
  readonly recordIntervalMs?: number;
  readonly readersSettle?: boolean;
}

async function rig(limits: Partial<typeof historyLimits> = {}, settings: Settings = {}) {
  const clock = simulatedClock();
  const memory = createPointMemory([{ channel: 0, writable: false }], 1);
  const table = createLiveTableWriter(memory, clock, [5000]);
  const said: string[] = [];
  const hear = (message: string): void => void said.push(message);
  const log: Log = { ...silentLog, info: hear, warn: hear, error: hear };
  const state = { full: false, storing: 0 };
  const counted = async <T>(work: Promise<T>): Promise<T> => {
    state.storing++;
    return work.finally(() => void state.storing--);
  };
  const store: Historian = {
    ...historian,
    async append(rows, options) {
      if (state.full) throw new Fault('storage-unavailable', 'full', { cause: new Error('database or disk is full') });
      return counted(historian.append(rows, options));
    },
    prune: (beforeMs, rowsMax) => counted(historian.prune(beforeMs, rowsMax)),
  };
  /** Waits until pending writes are stored and the work that follows has begun. */
  const settled = async (): Promise<void> => {
    do await new Promise((resolve) => setImmediate(resolve));
    while (state.storing > 0);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const recorder = startRecorder(
    {
      points: [{ index: 0, instance: 2, id: 1, maxAgeMs: 5000 }],
      tableSize: 1,
      memory,
      commanded: [{ index: 0, instance: 2, id: 9 }],
      recordIntervalMs: settings.recordIntervalMs ?? 1000,
      retentionDays: 1,
      retention: retentionCell(clock.wallMs()),
      limits: { ...testHistoryLimits, ...limits },
    },
    {
      historian: store,
      journal: noJournal,
      readersSettle: settings.readersSettle ?? false,
      isAsked: () => false,
      clock,
      log,
    },
  );
  const publish = (value: number): void => table.publish([{ index: 0, value, quality: quality.good }]);
  /** Advances the clock, and completes the work that this begins. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= stepMs) {
      clock.advance(Math.min(left, stepMs));
      await settled();
    }
  };
  /** One value a second, each seen by the look of its interval. */
  const seconds = async (count: number, from = 0): Promise<void> => {
    for (let index = 0; index < count; index++) {
      publish(from + index);
      await pass(1000);
    }
  };
  await settled();
  /** Accepted commands, seen by the recorder. */
  const command = async (value: number): Promise<void> => {
    memory.commandedValue[0] = value;
    memory.commandedMs[0] = clock.monotonicMs();
    await recorder.settle([], Number.POSITIVE_INFINITY);
  };
  return { pass, clock, publish, seconds, command, recorder, state, said };
}

const stored = (): Promise<HistoryRow[]> => exportedRows(historian, { series });
const values = async (): Promise<(number | null)[]> => (await stored()).map((row) => row.value);

describe.each(engines)('[points §6.1] recorder, on %s', (engine) => {
  // These tests never wait longer than this for a lock.
  const history = historyOn(engine, { lock_timeout_ms: 200 });
  beforeEach(async () => {
    ({ historian } = history());
    await history().clear();
  });

  test('record_interval_ms: a point is recorded at least that often', async () => {
    const { pass, publish, recorder } = await rig({}, { recordIntervalMs: 500 });
    for (let index = 0; index < 40; index++) {
      publish(5);
      await pass(100);
    }
    await recorder.stop(true);
    const times = (await stored()).map((row) => row.eventMs);
    expect(times.length).toBeGreaterThanOrEqual(8);
    expect(Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)))).toBeLessThanOrEqual(500);
  });

  test.each([
    { readersSettle: true, recordIntervalMs: 1000, recorded: 2, atStop: 1 },
    { readersSettle: true, recordIntervalMs: 6000, recorded: 2, atStop: 0 },
    { readersSettle: false, recordIntervalMs: 1000, recorded: 7, atStop: 0 },
  ])(
    'command_repeat_ms: one command repeated each second, recorded as %o',
    async ({ recorded, atStop, ...settings }) => {
      const { pass, command, recorder } = await rig({ command_repeat_ms: 5000 }, settings);
      for (let index = 0; index < 7; index++) {
        await command(5);
        await pass(1000);
      }
      expect(recorder.counts().recorded).toBe(recorded);
      await recorder.stop(true);
      const commands = { instance: 2, point: 9, kind: 'action' } as const;
      expect(await exportedRows(historian, { series: commands })).toHaveLength(recorded + atStop);
    },
  );

  test('a change rings and is looked at, at most every look_interval_ms', async () => {
    const { clock, pass, publish, recorder } = await rig({ look_interval_ms: 100 }, { recordIntervalMs: 3_600_000 });
    const recorded = (): number => recorder.counts().recorded;
    await pass(100);
    publish(1);
    await expect.poll(recorded).toBe(1);
    await pass(1);
    publish(2);
    publish(3);
    // The doorbell is answered in a later turn; however late, the look is never early.
    const lookedMs = clock.monotonicMs() - 1;
    const secondAfterMs = async (): Promise<number> => {
      await expect.poll(() => (recorded() > 1 ? true : clock.advance(1)), { interval: 1 }).toBe(true);
      return clock.monotonicMs() - lookedMs;
    };
    expect(await secondAfterMs()).toBeGreaterThanOrEqual(100);
    await recorder.stop(true);
    expect(await values()).toEqual([1, 3]);
  });

  test('rows are stored within flush_interval_ms, and the rest at the stop', async () => {
    const { pass, publish, recorder } = await rig({ flush_interval_ms: 2500 });
    publish(1);
    await pass(2499);
    expect([recorder.counts().stored, recorder.counts().waiting]).toEqual([0, 1]);
    await pass(1);
    expect(await values()).toEqual([1]);
    publish(2);
    await recorder.stop(true);
    expect(await values()).toEqual([1, 2]);
  });

  test('[points §6.1] the ingestion time is the time of storage: before it the row was not visible', async () => {
    const { clock, pass, publish, recorder } = await rig({ flush_interval_ms: 10_000 });
    const beganMs = clock.wallMs();
    publish(1);
    await pass(10_000);
    const [row] = await stored();
    expect([row?.eventMs, row?.ingestedMs]).toEqual([beganMs, beganMs + 10_000]);
    expect(await exportedRows(historian, { series, knownAtMs: beganMs + 9999 })).toEqual([]);
    await recorder.stop(true);
  });

  test('a wall clock that is set back while rows wait does not make them future rows', async () => {
    const { clock, pass, publish, recorder } = await rig({ flush_interval_ms: 10_000 });
    publish(1);
    await pass(1500);
    clock.jumpWall(-3_600_000);
    await pass(8500);
    await recorder.stop(true);
    for (const row of await stored()) expect(row.ingestedMs).toBeGreaterThanOrEqual(row.eventMs);
  });

  test('flush_rows bounds a transaction, and a queue that was left behind empties in the turns that follow', async () => {
    const { pass, seconds, recorder, state } = await rig({ flush_rows: 3 });
    state.full = true;
    await seconds(10);
    state.full = false;
    const waiting = recorder.counts().waiting;
    expect(waiting).toBeGreaterThanOrEqual(9);
    await pass(historyLimits.flush_interval_ms + 5 * stepMs);
    expect(recorder.counts().waiting).toBeLessThan(3);
    await recorder.stop(true);
    expect(await values()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('a full disk is logged once and counted; recording continues and nothing is lost', async () => {
    const { seconds, recorder, state, said } = await rig();
    await seconds(2);
    state.full = true;
    await seconds(5, 2);
    expect(said).toEqual(['cannot store history; retrying']);
    expect(recorder.counts()).toMatchObject({ failedFlushes: 5, failing: true, dropped: 0 });
    state.full = false;
    await seconds(2, 7);
    expect(said).toEqual(['cannot store history; retrying', 'history is being stored again']);
    expect(recorder.counts().failing).toBe(false);
    await recorder.stop(true);
    expect(await values()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('queue_rows: at the limit nothing is dropped, beyond it the oldest, and that is counted', async () => {
    const { seconds, recorder, state, said } = await rig({ queue_rows: 4 });
    state.full = true;
    await seconds(4);
    expect(recorder.counts()).toMatchObject({ waiting: 4, dropped: 0 });
    await seconds(3, 4);
    expect(recorder.counts()).toMatchObject({ waiting: 4, dropped: 3 });
    expect(said).toContain('history queue full: dropping the oldest rows');
    state.full = false;
    await recorder.stop(true);
    expect(await values()).toEqual([3, 4, 5, 6]);
  });

  test('the recorder waits for a store that another process has locked', async () => {
    const { seconds, recorder } = await rig();
    await seconds(1);
    const release = await history().hold();
    await seconds(3, 1);
    await release();
    expect(recorder.counts().failedFlushes).toBeGreaterThan(0);
    await recorder.stop(true);
    expect(await values()).toEqual([0, 1, 2, 3]);
  });

  test('[points §6.3] retention_days: older rows go, in portions', async () => {
    const { clock, pass, recorder } = await rig({ prune_interval_ms: 60_000, prune_rows: 100 });
    const nowMs = clock.wallMs();
    const rows = Array.from({ length: 2 * 1440 }, (_, index): HistoryRow => {
      const atMs = nowMs - index * 60_000;
      return { series, eventMs: atMs, ingestedMs: atMs, value: index, quality: quality.good };
    });
    await recorder.append(rows.toReversed());
    await pass(59_999);
    expect(recorder.counts().pruned).toBe(0);
    await pass(1);
    expect(recorder.counts().pruned).toBeGreaterThan(0);
    expect(recorder.counts().pruned).toBeLessThanOrEqual(120);
    await pass(60_000);
    const oldestMs = (await stored())[0]?.eventMs ?? 0;
    // Whole quarter hours are removed: up to one is kept longer, nothing is removed early.
    expect(oldestMs).toBeLessThanOrEqual(clock.wallMs() - dayMs);
    expect(oldestMs).toBeGreaterThan(clock.wallMs() - dayMs - 2 * 900_000);
    await recorder.stop(true);
  });
});
