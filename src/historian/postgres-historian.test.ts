/** Recorded history in PostgreSQL: partitions, hypertables, one writer at a time, the epoch, and a server that fails. */
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { Fault } from '../base/fault.ts';
import { quality } from '../site/quality.ts';
import { connectPostgres, type PostgresPlace } from '../storage/postgres.ts';
import { runOn } from '../testing/engines.ts';
import { exportedRows, hypertables, type TestHistory, testHistory, testHistoryLimits } from '../testing/histories.ts';
import { hypertablesIn } from '../testing/hypertables.ts';
import { makePostgres } from '../testing/postgres-server.ts';
import type { Historian, HistoryRow, WindowAnswer } from './historian.ts';
import { openHistorian } from './open-historian.ts';
import { partitionMs, partitionOf } from './store/partitions.ts';

const minuteMs = 60_000;
const quarterMs = 900_000;
const series = { instance: 2, point: 1 };
/** The end of one partition and the beginning of the next. */
const borderMs = 740 * partitionMs;

let history: TestHistory;
let historian: Historian;
let place: PostgresPlace;

beforeAll(async () => {
  history = await testHistory('postgres');
  ({ historian } = history);
  if (typeof history.place === 'string') throw new Error('this is a file');
  place = history.place;
});
afterAll(() => history.remove());
beforeEach(() => history.clear());

const row = (eventMs: number, value: number | null, more: Partial<HistoryRow> = {}): HistoryRow => ({
  series,
  eventMs,
  ingestedMs: eventMs,
  value,
  quality: value === null ? quality.missing : quality.good,
  ...more,
});
const minutesBefore = (endMs: number, count: number): HistoryRow[] =>
  Array.from({ length: count }, (_, index) => row(endMs - (count - 1 - index) * minuteMs, 1));
const read = async (asOfMs: number, steps: number, from = historian): Promise<WindowAnswer> => {
  const snapshot = await from.snapshot();
  try {
    const asked = {
      series,
      asOfMs,
      cadenceMs: quarterMs,
      steps,
      aggregation: 'sum',
      duplicatePolicy: 'latest',
    } as const;
    return await snapshot.window({ ...asked, maxSourceSkewMs: 5000 });
  } finally {
    await snapshot.close();
  }
};
const partitions = async (): Promise<number[]> =>
  (
    await runOn(
      place,
      `SELECT substr(relname, 9)::int AS n FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'sample'::regclass ORDER BY n`,
    )
  ).map(({ n }) => Number(n));
const refused = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
  return 'not refused';
};

describe('partitions', () => {
  test('a row at the end of a partition belongs to it, as its rollup does; the next one is made ahead', async () => {
    await historian.append([row(borderMs, 1)]);
    expect(await partitions()).toEqual([739, 740]);
    await historian.append([row(borderMs + 1, 2)]);
    expect(await partitions()).toEqual([739, 740, 741]);
    expect([partitionOf(borderMs), partitionOf(borderMs + 1)]).toEqual([739, 740]);
    expect([...(await read(borderMs + quarterMs, 2)).cells]).toEqual([1, 2]);
  });

  test('older imported data finds its partition; data before 2000 and after 2100 has one each', async () => {
    const years = [1901, 1980, 1999, 2010, 2150, 2290].map((year) => Date.UTC(year, 5, 1));
    await historian.append(years.map((atMs, index) => row(atMs, index)));
    const made = await partitions();
    expect(made.filter((number) => number <= partitionOf(Date.UTC(2000, 0, 1)))).toHaveLength(1);
    expect(made.filter((number) => number >= partitionOf(Date.UTC(2100, 0, 1)))).toHaveLength(1);
    expect((await exportedRows(historian, { series })).map(({ value }) => value)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('[points §6.3] a partition whose rows are all old is dropped whole, then rows at the edge go in portions', async () => {
    await historian.append([...minutesBefore(borderMs, 100), ...minutesBefore(borderMs + quarterMs, 15)]);
    expect(await historian.prune(borderMs, 5)).toBe(100);
    expect(await partitions()).not.toContain(739);
    expect(await historian.prune(borderMs, 5)).toBe(0);
    expect(await historian.prune(borderMs + quarterMs, 5)).toBe(15);
    expect(await exportedRows(historian, { series })).toEqual([]);
    // Dropped rows can be stored again.
    await historian.append([row(borderMs, 1)]);
    expect((await read(borderMs, 1)).rows).toBe(1);
  });

  test('[points §6.3] a snapshot still sees a partition that is about to be dropped; in the meantime rows at its edge are deleted', async () => {
    await historian.append(minutesBefore(borderMs, 15));
    const snapshot = await historian.snapshot();
    const asked = { series, asOfMs: borderMs, cadenceMs: quarterMs, steps: 1, aggregation: 'sum' } as const;
    const window = () => snapshot.window({ ...asked, duplicatePolicy: 'latest', maxSourceSkewMs: 0 });
    expect(await historian.prune(borderMs, 1000)).toBe(15);
    expect((await window()).cells[0]).toBe(15);
    await snapshot.close();
    expect((await read(borderMs, 1)).rows).toBe(0);
    expect(await historian.prune(borderMs, 1000)).toBe(0);
    expect(await partitions()).not.toContain(739);
  });
});

test('tables that are not partitioned take rows, answer windows and are pruned', async () => {
  const own = await testHistory('postgres');
  onTestFinished(() => own.remove());
  for (const table of ['sample', 'rollup'])
    await own.run(
      `ALTER TABLE ${table} RENAME TO former; CREATE TABLE ${table} (LIKE former INCLUDING ALL); DROP TABLE former`,
    );
  await own.historian.append([...minutesBefore(borderMs, 30), ...minutesBefore(borderMs + quarterMs, 15)]);
  expect([...(await read(borderMs + quarterMs, 3, own.historian)).cells]).toEqual([15, 15, 15]);
  expect(await own.historian.prune(borderMs, 1000)).toBe(30);
  expect((await read(borderMs + quarterMs, 3, own.historian)).rows).toBe(15);
});

describe.each(hypertables)('TimescaleDB %s', (engine) => {
  let own: TestHistory;
  let at: PostgresPlace;
  beforeAll(async () => {
    own = await testHistory(engine);
    if (typeof own.place === 'string') throw new Error('this is a file');
    at = own.place;
  });
  afterAll(() => own.remove());
  beforeEach(() => own.clear());

  /** Ends of the chunks after the cutoff. */
  const chunks = async (table = 'sample', of = at): Promise<number[]> =>
    (
      await runOn(
        of,
        `SELECT range_end_integer AS end_ms FROM timescaledb_information.chunks
          WHERE hypertable_schema = current_schema() AND hypertable_name = '${table}' ORDER BY end_ms`,
      )
    ).map(({ end_ms }) => Number(end_ms) - borderMs);
  const rollups = async (of = at): Promise<unknown> =>
    (await runOn(of, 'SELECT coalesce(sum(row_count), 0)::int AS rows FROM rollup WHERE width_ms = 900000'))[0]?.[
      'rows'
    ];

  test('[points §6.3] a chunk whose rows are all old is dropped whole, and its border with it; the others are pruned', async () => {
    await own.historian.append([...minutesBefore(borderMs, 100), ...minutesBefore(borderMs + quarterMs, 15)]);
    expect([await chunks(), await chunks('rollup')]).toEqual([
      [0, partitionMs],
      [0, partitionMs],
    ]);
    // A moment before the cutoff the chunk holds a row that is not old.
    expect(await own.historian.prune(borderMs - 1, 1000)).toBe(85);
    expect(await chunks()).toEqual([0, partitionMs]);
    // The row at the cutoff is in the next chunk, as is the rollup that it shares with rows of this one.
    expect(await own.historian.prune(borderMs, 5)).toBe(15);
    expect([await chunks(), await chunks('rollup')]).toEqual([[partitionMs], [partitionMs]]);
    expect([await rollups(), (await exportedRows(own.historian, { series })).length]).toEqual([15, 15]);
    expect([...(await read(borderMs + quarterMs, 2, own.historian)).cells]).toEqual([Number.NaN, 15]);
    expect(await own.historian.prune(borderMs + quarterMs, 5)).toBe(15);
    // Dropped rows can be stored again.
    await own.historian.append([row(borderMs - 1, 1)]);
    expect((await read(borderMs, 1, own.historian)).rows).toBe(1);
  });

  test('[points §6.3] a rollup at the border goes also where its series has no row there', async () => {
    await own.historian.append([row(borderMs - minuteMs, 1), row(borderMs - 1, 2)]);
    expect(await own.historian.prune(borderMs, 1000)).toBe(2);
    expect([await chunks(), await rollups()]).toEqual([[], 0]);
    expect((await read(borderMs, 1, own.historian)).rows).toBe(0);
  });

  test('[points §6.3] a snapshot still sees a chunk that is about to be dropped; in the meantime its rows are deleted and new chunks are created', async () => {
    await own.historian.append(minutesBefore(borderMs, 15));
    const snapshot = await own.historian.snapshot();
    const asked = { series, asOfMs: borderMs, cadenceMs: quarterMs, steps: 1, aggregation: 'sum' } as const;
    expect(await own.historian.prune(borderMs, 1000)).toBe(15);
    await own.historian.append([row(borderMs + partitionMs, 1)]);
    expect(await chunks()).toEqual([0, partitionMs, 2 * partitionMs]);
    expect((await snapshot.window({ ...asked, duplicatePolicy: 'latest', maxSourceSkewMs: 0 })).cells[0]).toBe(15);
    await snapshot.close();
    expect(await own.historian.prune(borderMs, 1000)).toBe(0);
    expect(await chunks()).toEqual([partitionMs, 2 * partitionMs]);
  });

  test('docs history: rows that are stored already are copied; chunks may have another width, and end anywhere', async () => {
    const other = await testHistory('postgres');
    onTestFinished(() => other.remove());
    if (typeof other.place === 'string') throw new Error('this is a file');
    const rows = minutesBefore(borderMs, 100);
    await other.historian.append(rows);
    const statements = hypertablesIn(other.place.limits.postgres_schema);
    // Seven minutes: the last whole old chunk ends 21 minutes before the cutoff, inside a quarter hour.
    await other.run(statements.replaceAll(String(partitionMs), String(7 * minuteMs)));
    expect(await exportedRows(other.historian, { series })).toEqual(rows);
    expect(await other.historian.prune(borderMs - 5 * minuteMs, 1)).toBe(85);
    expect(await exportedRows(other.historian, { series })).toEqual(rows.slice(85));
    expect(await rollups(other.place)).toBe(15);
    expect(await chunks('sample', other.place)).toEqual([-14, -7, 0, 7].map((minutes) => minutes * minuteMs));
    expect([...(await read(borderMs, 2, other.historian)).cells]).toEqual([Number.NaN, 15]);
  });

  test('partitionsMax: 20 chunks go at a time, the rest later', async () => {
    const other = await testHistory('postgres');
    onTestFinished(() => other.remove());
    if (typeof other.place === 'string') throw new Error('this is a file');
    const statements = hypertablesIn(other.place.limits.postgres_schema);
    await other.run(statements.replaceAll(String(partitionMs), String(quarterMs)));
    // A row in each of 22 chunks, and one on the last end.
    await other.historian.append(Array.from({ length: 23 }, (_, index) => row(borderMs - (22 - index) * quarterMs, 1)));
    expect(await other.historian.prune(borderMs, 1)).toBe(21);
    expect(await other.historian.prune(borderMs, 1)).toBe(2);
    expect([await exportedRows(other.historian, { series }), await rollups(other.place)]).toEqual([[], 0]);
  });
});

test('[data-processing §4.2] a window of more rows than one answer holds is the one of the file, also where an instant lies across the border', async () => {
  const file = await testHistory('sqlite');
  onTestFinished(() => file.remove());
  // 20 000 rows a batch: the last row of the first batch and the first of the second have the same instant.
  const rows = Array.from({ length: 20_500 }, (_, index) =>
    row(borderMs + (index - (index >= 20_000 ? 1 : 0)) * 10, index % 7 === 0 ? null : index % 101, {
      ingestedMs: borderMs + 300_000,
    }),
  );
  const asked = { series, asOfMs: borderMs + 205_001, cadenceMs: 50_000, steps: 5, aggregation: 'sum' } as const;
  const answers = [];
  for (const store of [file.historian, historian]) {
    await store.append(rows);
    const snapshot = await store.snapshot();
    answers.push(await snapshot.window({ ...asked, duplicatePolicy: 'latest', maxSourceSkewMs: 0 }));
    await snapshot.close();
  }
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[1]).toMatchObject({ rows: 20_500, firstDuplicateMs: borderMs + 199_990 });
});

describe('writers', () => {
  test('two concurrent writers: every row is stored, rows with one event time are numbered', async () => {
    const other = openHistorian(place, testHistoryLimits);
    onTestFinished(() => other.close());
    const turn = async (store: Historian, value: number): Promise<void> => {
      for (let round = 0; round < 5; round++)
        await store.append(Array.from({ length: 20 }, (_, index) => row(borderMs + index * minuteMs, value)));
    };
    await Promise.all([turn(historian, 1), turn(other, 2)]);
    expect(await exportedRows(historian, { series })).toHaveLength(200);
    const answer = await read(borderMs + quarterMs, 2);
    expect([answer.rows, answer.firstDuplicateMs]).toEqual([160, borderMs]);
  });

  test('docs several-machines: writes with an older epoch are rolled back', async () => {
    const runtime = openRuntimeDatabase(place);
    await runtime.ready();
    await runtime.close();
    await history.run('UPDATE engine_lease SET epoch = 7');
    const [former, current] = [6, 7].map((epoch) => openHistorian({ ...place, epoch }, testHistoryLimits));
    onTestFinished(async () => {
      await former?.close();
      await current?.close();
    });
    expect(await refused(former?.append([row(borderMs, 1)]) ?? Promise.resolve())).toBe('storage-unavailable');
    expect(await refused(former?.prune(borderMs, 10) ?? Promise.resolve())).toBe('storage-unavailable');
    expect(await exportedRows(historian, { series })).toEqual([]);
    await current?.append([row(borderMs, 1)]);
    expect(await exportedRows(historian, { series })).toHaveLength(1);
  });

  test('lock_wait_ms: retention does not wait for a partition that is being read, and does not block others', async () => {
    await historian.append(minutesBefore(borderMs, 15));
    const server = connectPostgres(place, 'site');
    const reader = await server.connect();
    onTestFinished(async () => {
      reader.release(true);
      await server.close();
    });
    await reader.run('BEGIN; SELECT count(*) FROM sample');
    expect(await historian.prune(borderMs, 1000)).toBe(15);
    expect(await partitions()).toContain(739);
  });
});

test('[data-processing §4.2] an unavailable server makes calls fail, and a later call recovers', async () => {
  const server = await makePostgres();
  await server.start();
  onTestFinished(() => server.stop());
  const away = { ...place, url: server.url, limits: { ...place.limits, connect_timeout_ms: 500 } };
  const store = openHistorian(away, testHistoryLimits);
  onTestFinished(() => store.close());
  expect(await refused(store.snapshot())).toBe('source-unavailable');
  await store.append(minutesBefore(borderMs, 15));
  const snapshot = await store.snapshot();
  await server.kill();
  const asked = { series, asOfMs: borderMs, cadenceMs: quarterMs, steps: 1, aggregation: 'sum' } as const;
  const window = snapshot.window({ ...asked, duplicatePolicy: 'latest', maxSourceSkewMs: 0 });
  expect(await refused(window)).toBe('source-unavailable');
  await snapshot.close();
  expect(await refused(store.snapshot())).toBe('source-unavailable');
  expect(await refused(exportedRows(store, { series }))).toBe('source-unavailable');
  expect(await refused(store.append([row(borderMs, 2)]))).toBe('storage-unavailable');
  await server.start();
  expect((await read(borderMs, 1, store)).cells[0]).toBe(15);
});
