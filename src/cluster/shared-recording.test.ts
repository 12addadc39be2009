/** Recording by the leader, and what happens to readings while its database is unreachable (docs/guides/several-machines.md). */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { Fault } from '../base/fault.ts';
import { type Log, silentLog } from '../base/log.ts';
import type { Historian } from '../historian/historian.ts';
import { historySpool } from '../historian/history-spool.ts';
import { startRecording } from '../historian/recording.ts';
import { createLiveTableWriter } from '../points/live-table.ts';
import { createPointMemory, setLease } from '../points/shared-memory.ts';
import { quality } from '../site/quality.ts';
import type { PostgresPlace } from '../storage/postgres.ts';
import { retentionCell } from '../storage/retention-clock.ts';
import { exportedRows, type TestHistory, testHistory, testHistoryLimits } from '../testing/histories.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { shareRecording } from './shared-recording.ts';

const series = { instance: 2, point: 1 };
let history: TestHistory;
let place: PostgresPlace;

beforeEach(async () => {
  history = await testHistory('postgres');
  if (typeof history.place === 'string') throw new Error('this is a file');
  place = history.place;
  const runtime = openRuntimeDatabase(place);
  await runtime.ready();
  await runtime.close();
});
afterEach(() => history.remove());

/** An address without a server. */
const away = (): PostgresPlace => ({ ...place, url: 'postgres://nobody@127.0.0.1:1/none' });

function rig(more: Partial<typeof testHistoryLimits> = {}, historian?: Pick<Historian, 'append'>) {
  const clock = simulatedClock();
  const memory = createPointMemory([{ channel: 0, writable: false }], 1);
  const table = createLiveTableWriter(memory, clock, [5000]);
  const said: string[] = [];
  const hear = (message: string): void => void said.push(message);
  const log: Log = { ...silentLog, info: hear, warn: hear, error: hear };
  const setup = {
    points: [{ index: 0, instance: 2, id: 1, maxAgeMs: 5000 }],
    tableSize: 1,
    memory,
    commanded: [],
    recordIntervalMs: 1000,
    retentionDays: 1,
    retention: retentionCell(0),
    limits: { ...testHistoryLimits, ...more },
  };
  const state = { place };
  const spool = historySpool(history.folder);
  const recording = shareRecording({
    start: (epoch) => {
      const folders = { journalFolder: null, spoolFolder: history.folder };
      const parts = { setup: () => setup, place: { ...state.place, epoch }, ...folders } as const;
      return startRecording({ ...parts, logLevel: 'silent', clock, log, inProcess: true });
    },
    spool,
    historian: historian ?? { append: (...given) => history.historian.append(...given) },
    clock,
    log,
  });
  /** The lease is held, and the database knows the epoch. */
  const lead = async (epoch: number): Promise<void> => {
    await history.run(`UPDATE engine_lease SET epoch = ${epoch}`);
    setLease(memory, clock.monotonicMs() + 3_600_000);
    recording.begin(epoch);
  };
  const lose = async (): Promise<void> => {
    setLease(memory, 0);
    await recording.end();
  };
  /** A reading, and the recorder's look at it. */
  const reading = (value: number): void => {
    table.publish([{ index: 0, value, quality: quality.good }]);
    clock.advance(1000);
  };
  return { clock, memory, recording, said, state, lead, lose, reading };
}

const values = async (): Promise<(number | null)[]> =>
  (await exportedRows(history.historian, { series })).map(({ value }) => value);
const kept = (): string[] => {
  const folder = join(history.folder, 'spool-history');
  return existsSync(folder) ? readdirSync(folder) : [];
};

test('only the leader records: nothing before its lease, nothing after it', async () => {
  const { recording, lead, lose, reading } = rig();
  await expect(recording.append([])).rejects.toMatchObject({ code: 'storage-unavailable' });
  expect(await recording.counts()).toMatchObject({ recorded: 0 });
  await lead(1);
  reading(2);
  await recording.append([{ series, eventMs: Float64Array.of(1000), values: Float64Array.of(9) }]);
  await lose();
  reading(4);
  await lead(2);
  reading(5);
  await recording.stop(true);
  expect(await recording.counts()).toMatchObject({ recorded: 3, dropped: 0, waiting: 0 });
  expect(await historySpool(history.folder).store(history.historian, simulatedClock())).toBeLessThanOrEqual(1);
  // Values still fresh when control begins are recorded then: 4 was read a second before.
  expect(await values()).toEqual([9, 2, 4, 5]);
  recording.begin(3);
  reading(6);
  expect(await recording.counts()).toMatchObject({ recorded: 3 });
});

test('an expired lease stops the recording by itself, before any notification', async () => {
  const { memory, recording, lead, reading } = rig();
  await lead(1);
  reading(1);
  setLease(memory, 0);
  reading(2);
  expect(await recording.counts()).toMatchObject({ recorded: 1 });
  await recording.stop(true);
});

test('at a clean stop pending rows are stored; nothing is spooled', async () => {
  const { recording, lead, reading } = rig({ flush_interval_ms: 60_000 });
  await lead(1);
  await expect.poll(async () => (await recording.counts()).waiting).toBe(0);
  reading(1);
  reading(2);
  const counts = await recording.stop(true);
  expect(counts).toMatchObject({ recorded: 2, stored: 2, waiting: 0 });
  expect(await values()).toEqual([1, 2]);
  expect(kept()).toEqual([]);
});

test('the database is unavailable: readings wait, are spooled at the end of control and stored once when it answers', async () => {
  const { clock, recording, lead, lose, reading, said, state } = rig({ flush_interval_ms: 60_000 });
  state.place = away();
  await lead(1);
  reading(1);
  reading(2);
  await lose();
  expect(kept()).toHaveLength(1);
  expect(said).toContain('unsaved readings spooled until the database is back');
  expect(await values()).toEqual([]);
  const beforeMs = clock.wallMs();
  clock.advance(2000);
  await expect.poll(values).toEqual([1, 2]);
  await expect.poll(kept).toEqual([]);
  // Nobody could know them before they were stored.
  for (const row of await exportedRows(history.historian, { series }))
    expect(row.ingestedMs).toBeGreaterThanOrEqual(beforeMs);
  await recording.stop(true);
});

test('queue_rows: the file of an outage holds as many, the oldest are dropped and counted', async () => {
  const { recording, lead, lose, reading, said, state } = rig({ queue_rows: 3, flush_interval_ms: 60_000 });
  state.place = away();
  await lead(1);
  for (const value of [1, 2, 3, 4, 5]) reading(value);
  await lose();
  expect(await recording.counts()).toMatchObject({ recorded: 5, dropped: 2, stored: 0 });
  expect(said).toContain('history queue full: dropping the oldest rows');
  expect(await historySpool(history.folder).store(history.historian, simulatedClock())).toBe(3);
  expect(await values()).toEqual([3, 4, 5]);
  await recording.stop(true);
});

test('a lost answer: repeated rows are stored once', async () => {
  const { recording, lead, lose, reading, clock } = rig({ flush_interval_ms: 60_000 });
  await lead(1);
  reading(1);
  await lose();
  // The thread ended before the answer: the row is stored, and still in the journal.
  const spool = historySpool(history.folder);
  await spool.store(history.historian, clock);
  const stored = await exportedRows(history.historian, { series });
  await spool.keep(stored);
  await spool.store(history.historian, clock);
  expect(await exportedRows(history.historian, { series })).toEqual(stored);
  await recording.stop(true);
});

test('a former epoch writes nothing; its readings are spooled', async () => {
  const { recording, lead, reading, said } = rig({ flush_interval_ms: 60_000 });
  await lead(1);
  reading(1);
  await history.run('UPDATE engine_lease SET epoch = 2');
  await recording.stop(true);
  expect(said).toContain('cannot store history; retrying');
  expect(await values()).toEqual([]);
  expect(kept()).toHaveLength(1);
});

test('a database that takes nothing leaves the file; a damaged one is logged once and left', async () => {
  const { clock } = rig();
  const spool = historySpool(history.folder);
  const row = { series, eventMs: 1000, ingestedMs: 1000, value: 1, quality: quality.good };
  await spool.keep([row]);
  const refuse = { append: () => Promise.reject(new Fault('storage-unavailable', 'away')) };
  await expect(spool.store(refuse, clock)).rejects.toMatchObject({ code: 'storage-unavailable' });
  expect(kept()).toHaveLength(1);
  expect(await spool.store(history.historian, clock)).toBe(1);
  writeFileSync(join(history.folder, 'spool-history', 'x.jsonl'), '{"series":1}\n');
  await expect(spool.store(history.historian, clock)).rejects.toThrow('something else');
  expect(kept()).toEqual(['x.jsonl.damaged']);
  expect(await spool.store(history.historian, clock)).toBe(0);
});

test('a failure to store spooled readings is logged once', async () => {
  const { clock, recording, said } = rig(
    {},
    { append: () => Promise.reject(new Fault('storage-unavailable', 'away')) },
  );
  const row = { series, eventMs: 1000, ingestedMs: 1000, value: 1, quality: quality.good };
  await historySpool(history.folder).keep([row]);
  for (let turn = 0; turn < 3; turn++) {
    clock.advance(2000);
    await expect.poll(() => clock.pendingCount()).toBe(1);
  }
  expect(said).toEqual(['cannot store spooled readings yet; retrying']);
  await recording.stop(true);
});

test('rows that a killed process had started to spool are stored after its next start', async () => {
  const row = { series, eventMs: 1000, ingestedMs: 1000, value: 1, quality: quality.good };
  await historySpool(history.folder).keep([row, { ...row, eventMs: 2000 }]);
  const file = join(history.folder, 'spool-history', kept()[0] ?? '');
  writeFileSync(`${file}.draft`, readFileSync(file).subarray(0, -1));
  rmSync(file);
  const { clock, recording } = rig();
  await expect.poll(kept).toEqual([basename(file)]);
  clock.advance(2000);
  await expect.poll(kept).toEqual([]);
  expect(await values()).toEqual([1]);
  await recording.stop(true);
});
