/** The historian thread: records beside the main thread, and is restarted when it dies (ARCHITECTURE.md, "Threads"). */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { type LogFields, silentLog } from '../base/log.ts';
import { createLiveTableWriter } from '../points/live-table.ts';
import { createPointMemory } from '../points/shared-memory.ts';
import { quality } from '../site/quality.ts';
import { spoolLimits } from '../storage/limits.ts';
import { retentionCell } from '../storage/retention-clock.ts';
import { storageLimits } from '../storage/server-limits.ts';
import { engines } from '../testing/engines.ts';
import { exportedRows, historyOn, type TestHistory } from '../testing/histories.ts';
import { historySpool } from './history-spool.ts';
import { historyLimits } from './limits.ts';
import { startRecording } from './recording.ts';

const series = { instance: 2, point: 1 };
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-recording-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function rig({ place, historian }: TestHistory, inProcess: boolean, more: Partial<typeof historyLimits> = {}) {
  const limits = { ...historyLimits, look_interval_ms: 10, flush_interval_ms: 20, restart_delay_ms: 10, ...more };
  const point = { channel: 0, writable: false };
  const memory = createPointMemory([point], 1, { points: 2, channels: 1 });
  const table = createLiveTableWriter(memory, systemClock, [5000, 5000]);
  let setup = {
    points: [{ index: 0, instance: 2, id: 1, maxAgeMs: 5000 }],
    tableSize: 1,
    memory,
    commanded: [],
    recordIntervalMs: 1000,
    retentionDays: 1,
    retention: retentionCell(0),
    limits,
  };
  const said: string[] = [];
  const log = { ...silentLog, error: (message: string) => void said.push(message) };
  const parts = {
    setup: () => setup,
    place,
    journalFolder: null,
    spoolFolder: null,
    logLevel: 'silent',
    clock: systemClock,
    log,
    inProcess,
  } as const;
  const recording = startRecording(parts);
  const values = async (): Promise<(number | null)[]> =>
    (await exportedRows(historian, { series })).map((row) => row.value);
  const publish = (value: number, index = 0): void => table.publish([{ index, value, quality: quality.good }]);
  const grow = (): void => {
    setup = { ...setup, points: [...setup.points, { index: 1, instance: 2, id: 2, maxAgeMs: 5000 }], tableSize: 2 };
  };
  return { recording, values, publish, said, grow };
}

describe.each(engines)('recording, on %s', (engine) => {
  const history = historyOn(engine);
  beforeEach(() => history().clear());

  test.each([
    ['in its thread', false],
    ['in-process', true],
  ])('[points §6.1] values are recorded %s, and bulk rows are stored beside them', async (_, inProcess) => {
    const { recording, values, publish } = rig(history(), inProcess);
    publish(1);
    await expect.poll(values).toEqual([1]);
    publish(2);
    await expect.poll(values).toEqual([1, 2]);
    const eventMs = Float64Array.of(1000, 2000, 2000);
    const columns = { series, eventMs, values: Float64Array.of(7, Number.NaN, 8) };
    expect(await recording.append([columns])).toEqual({ duplicates: 1, skipped: 0 });
    expect((await values()).slice(0, 3)).toEqual([7, null, 8]);
    expect(await recording.counts()).toMatchObject({ recorded: 2, stored: 2, dropped: 0, failedFlushes: 0 });
    publish(3);
    // The last look finds what arrived just before the stop.
    await recording.stop(true);
    expect((await values()).slice(3)).toEqual([1, 2, 3]);
  });

  test.each([
    ['in its thread', false],
    ['in-process', true],
  ])(
    '[points §1.3] recording that is renewed %s stores pending rows, reads its points again, and keeps counting',
    async (_, inProcess) => {
      const { recording, values, publish, grow } = rig(history(), inProcess);
      publish(1);
      await expect.poll(values).toEqual([1]);
      publish(2);
      grow();
      await recording.renew();
      expect(await values()).toEqual([1, 2]);
      expect((await recording.counts()).stored).toBeGreaterThanOrEqual(2);
      publish(3, 1);
      const other = { ...series, point: 2 };
      const second = async () => (await exportedRows(history().historian, { series: other })).map((row) => row.value);
      await expect.poll(second).toEqual([3]);
      expect((await recording.stop(true)).stored).toBeGreaterThanOrEqual(3);
    },
  );

  test.each([
    [10, false],
    [10_000, true],
  ])(
    '[points §6.1] settle_timeout_ms: a read waits %d ms for a thread that only begins: %s',
    async (timeoutMs, isIn) => {
      const { recording } = rig(history(), false, { settle_timeout_ms: timeoutMs });
      expect(await recording.settle([series])).toBe(isIn);
      await recording.stop(true);
    },
  );

  test.each([
    [10, false],
    [10_000, true],
  ])('call_timeout_ms: a call waits %d ms for a thread that only begins: %s', async (timeoutMs, isAnswered) => {
    const { recording } = rig(history(), false, { call_timeout_ms: timeoutMs });
    const columns = { series, eventMs: Float64Array.of(1000), values: Float64Array.of(7) };
    const appended = recording.append([columns]).then(
      () => true,
      () => false,
    );
    expect(await appended).toBe(isAnswered);
    await recording.stop(true);
  });

  test('house: a thread that dies is started again and records on', async () => {
    const { recording, values, publish, said } = rig(history(), false);
    publish(1);
    await expect.poll(values).toEqual([1]);
    // Nothing may pass it such a value: it is a bug, which ends the thread.
    const columns = { series, eventMs: Float64Array.of(1000), values: Float64Array.of(Number.POSITIVE_INFINITY) };
    await expect(recording.append([columns])).rejects.toThrow();
    await expect.poll(() => said).toEqual(['historian thread failed; restarting it']);
    await expect
      .poll(
        async () => {
          const { length } = await values();
          publish(length + 1);
          return length;
        },
        { timeout: 10_000 },
      )
      .toBeGreaterThan(3);
    await recording.stop(true);
  });
});

/** A thread that recorded thousands of rows for a database at an address without a server. */
async function outage(spoolFolder: string) {
  const points = Array.from({ length: 5000 }, (_, index) => ({ index, instance: 2, id: index + 1, maxAgeMs: 60_000 }));
  const memory = createPointMemory(
    points.map(() => ({ channel: 0, writable: false })),
    1,
  );
  const maxAgesMs = points.map(({ maxAgeMs }) => maxAgeMs);
  const table = createLiveTableWriter(memory, systemClock, maxAgesMs);
  const limits = { ...historyLimits, look_interval_ms: 10, stop_timeout_ms: 10 };
  const setup = {
    points,
    commanded: [],
    tableSize: points.length,
    memory,
    recordIntervalMs: 60_000,
    retentionDays: 1,
    retention: retentionCell(0),
    limits,
  };
  const said: [string, unknown][] = [];
  const log = { ...silentLog, error: (message: string, fields?: LogFields) => void said.push([message, fields]) };
  const place = { url: 'postgres://nobody@127.0.0.1:1/none', limits: storageLimits };
  const recording = startRecording({
    setup: () => setup,
    place,
    journalFolder: null,
    spoolFolder,
    logLevel: 'silent',
    clock: systemClock,
    log,
  });
  let value = 0;
  const recorded = async (): Promise<number> => {
    value++;
    table.publish(points.map(({ index }) => ({ index, value, quality: quality.good })));
    return (await recording.counts()).recorded;
  };
  await expect.poll(recorded, { timeout: 20_000 }).toBeGreaterThan(45_000);
  return { recording, said };
}

test('unstored rows are spooled completely, however long that takes beyond stop_timeout_ms', async () => {
  const { recording, said } = await outage(folder);
  const counts = await recording.stop(false);
  expect(said).toEqual([]);
  expect(counts).toMatchObject({ stored: 0, dropped: 0 });
  expect(readdirSync(join(folder, 'spool-history')).length).toBe(Math.ceil(counts.recorded / spoolLimits.file_rows));
  const kept = await historySpool(folder).store({ append: async () => ({ duplicates: 0, skipped: 0 }) }, systemClock);
  expect(kept).toBe(counts.recorded);
});

test('where it cannot be kept either, how much is lost is said and counted', async () => {
  const noFolder = join(folder, 'file');
  writeFileSync(noFolder, '');
  const { recording, said } = await outage(noFolder);
  const counts = await recording.stop(false);
  expect(counts.dropped).toBe(counts.recorded);
  expect(said).toEqual([
    [
      'history lost: neither stored nor spooled',
      { rows: counts.recorded, error: expect.stringContaining('cannot write to the data directory') },
    ],
  ]);
});
