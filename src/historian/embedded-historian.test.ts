/** The historian on a file: faults and recovery. */
import { appendFileSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { quality } from '../site/quality.ts';
import { exportedRows, testHistoryLimits } from '../testing/histories.ts';
import type { Historian, HistoryRow, WindowAnswer, WindowRequest } from './historian.ts';
import { openHistorian } from './open-historian.ts';
import { historySchema } from './store/schema.ts';

const minuteMs = 60_000;
const quarterMs = 900_000;
const series = { instance: 2, point: 1 };
const baseMs = Date.UTC(2026, 6, 11);

let historian: Historian;
let folder = '';
let file = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-historian-'));
  file = join(folder, 'history.sqlite');
  historian = openHistorian(file, testHistoryLimits);
});
afterEach(async () => {
  await historian.close();
  rmSync(folder, { recursive: true, force: true });
});

const row = (afterMs: number, value: number | null, more: Partial<HistoryRow> = {}): HistoryRow => ({
  series,
  eventMs: baseMs + afterMs,
  ingestedMs: baseMs + afterMs,
  value,
  quality: value === null ? quality.missing : quality.good,
  ...more,
});
/** One value a minute in (base, base + minutes]. */
const minutes = (count: number): HistoryRow[] =>
  Array.from({ length: count }, (_, index) => row((index + 1) * minuteMs, index + 1));
const request = (more: Partial<WindowRequest> = {}): WindowRequest => ({
  series,
  asOfMs: baseMs + 2 * quarterMs,
  cadenceMs: quarterMs,
  steps: 2,
  aggregation: 'sum',
  duplicatePolicy: 'latest',
  maxSourceSkewMs: 5000,
  ...more,
});
const read = async (more: Partial<WindowRequest> = {}, from = historian): Promise<WindowAnswer> => {
  const snapshot = await from.snapshot();
  try {
    return await snapshot.window(request(more));
  } finally {
    await snapshot.close();
  }
};
const refused = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
  return 'not refused';
};

describe('[data-processing §4.2] a missing or inaccessible store makes only that request unavailable', () => {
  test('[data-processing §4.2] no store yet, then one: a later call recovers', async () => {
    expect(await refused(() => historian.snapshot())).toBe('source-unavailable');
    expect(await refused(() => exportedRows(historian, { series }))).toBe('source-unavailable');
    await historian.append(minutes(15));
    expect((await read()).rows).toBe(15);
  });

  test('[data-processing §4.2] a store that is moved away and restored', async () => {
    await historian.append(minutes(15));
    expect((await read()).rows).toBe(15);
    const away = join(folder, 'away');
    for (const suffix of ['', '-wal', '-shm']) renameSync(`${file}${suffix}`, `${away}${suffix}`);
    expect(await refused(() => historian.snapshot())).toBe('source-unavailable');
    for (const suffix of ['', '-wal', '-shm']) renameSync(`${away}${suffix}`, `${file}${suffix}`);
    expect((await read()).rows).toBe(15);
  });

  test('[data-processing §4.2] a file that is not a database, or is cut off, or of a newer format', async () => {
    writeFileSync(file, 'this is not a database, however long one looks at it; '.repeat(100));
    expect(await refused(() => read())).toBe('source-unavailable');
    expect(await refused(() => historian.append(minutes(1)))).toBe('storage-unavailable');
    rmSync(file);
    await historian.append(minutes(2000));
    await historian.close();
    historian = openHistorian(file, testHistoryLimits);
    truncateSync(file, 8192);
    appendFileSync(file, Buffer.alloc(4096, 0xff));
    expect(await refused(() => read())).toBe('source-unavailable');
    rmSync(file);
    await historian.append(minutes(1));
    const newer = new DatabaseSync(file);
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    expect(await refused(() => openHistorian(file, testHistoryLimits).snapshot())).toBe('source-unavailable');
  });

  test('lock_wait_ms: while another process writes, reads continue and a write is refused in time', async () => {
    await historian.append(minutes(1));
    const other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    expect((await read()).rows).toBe(1);
    expect(await refused(() => historian.append(minutes(1)))).toBe('storage-unavailable');
    other.exec('ROLLBACK');
    other.close();
    expect((await historian.append(minutes(1))).duplicates).toBe(1);
  });
});

test('[points §6.1] rows of a file of before stand for one observation each', async () => {
  const before = new DatabaseSync(file);
  before.exec(historySchema.file[0] ?? '');
  before.exec('PRAGMA user_version = 1');
  before.exec(`INSERT INTO series (id, instance, kind, point) VALUES (1, 2, 'measurement', 1)`);
  const add = before.prepare('INSERT INTO sample VALUES (1, ?, 0, ?, ?, 1)');
  for (const [afterMs, value] of [
    [1000, 0],
    [59_000, 1000],
  ] as const)
    add.run(baseMs + afterMs, baseMs + afterMs, value);
  const rollup = before.prepare('INSERT INTO rollup VALUES (1, ?, ?, 2, 2, 1000, 0, 0, 1000, 1000, ?, 0, 0, ?)');
  for (const widthMs of [minuteMs, quarterMs]) rollup.run(widthMs, baseMs + widthMs, baseMs + 59_000, baseMs + 59_000);
  before.close();
  await historian.append([row(61_000, 4, { observations: { count: 2, sinceMs: baseMs + 59_000 } })]);
  for (const useRollups of [true, false]) {
    const reading = openHistorian(file, testHistoryLimits, { useRollups });
    const asked = { asOfMs: baseMs + 2 * minuteMs, cadenceMs: minuteMs, aggregation: 'mean' } as const;
    expect([...(await read(asked, reading)).cells]).toEqual([1004 / 3, 4]);
    await reading.close();
  }
});
