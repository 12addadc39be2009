/** Blocks are copies of rows [points §6.1]: whatever is added, deleted and removed, a read through them equals one without them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { quality } from '../../site/quality.ts';
import { exportedRows, testHistoryLimits } from '../../testing/histories.ts';
import type { Historian, HistoryRow, WindowRequest } from '../historian.ts';
import { openHistorian } from '../open-historian.ts';
import { type BlockRow, RowBlock } from '../row-block.ts';
import { type HistoryDatabase, openHistoryWriter } from './history-database.ts';
import { type BlockLimits, blockLimits } from './sample-blocks.ts';
import { createSeriesStore, type SeriesStore } from './series-store.ts';

const baseMs = Date.UTC(2026, 6, 11);
const minuteMs = 60_000;
const quarterMs = 900_000;
const series = { instance: 2, point: 1 };
const small: BlockLimits = { rowsMin: 4, rowsMax: 12, copiedRows: 6 };

let folder: string;
let file: string;
let writer: HistoryDatabase;
let store: SeriesStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-blocks-'));
  file = join(folder, 'history.sqlite');
  begin(small);
});
afterEach(() => {
  writer.close();
  rmSync(folder, { recursive: true, force: true });
});

function begin(limits: BlockLimits): void {
  writer = openHistoryWriter(file, 0);
  store = createSeriesStore(writer, limits);
}

function again(): void {
  writer.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  begin(small);
}

function row(atMs: number, value: number | null, more: Partial<HistoryRow> = {}): HistoryRow {
  const eventMs = baseMs + atMs;
  return {
    series,
    eventMs,
    ingestedMs: eventMs + 20,
    value,
    quality: value === null ? quality.missing : quality.good,
    ...more,
  };
}

/** `count` rows, one a minute. */
function minutes(from: number, count: number): HistoryRow[] {
  return Array.from({ length: count }, (_, index) => row((from + index) * minuteMs, from + index));
}

interface StoredBlock {
  readonly afterMs: number;
  readonly endMs: number;
  readonly rows: readonly BlockRow[];
}

function blocks(): readonly StoredBlock[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const stored = database.prepare('SELECT after_ms, end_ms, rows FROM sample_block ORDER BY series, end_ms').all();
  database.close();
  return stored.map(({ after_ms: after, end_ms: end, rows }) => {
    const block = new RowBlock(rows as Uint8Array, Number(after));
    const all = Array.from({ length: block.count }, (_, place) => block.row(place));
    return { afterMs: Number(after), endMs: Number(end), rows: all };
  });
}

/** Ends of blocks, in minutes. */
function ends(): readonly number[] {
  return blocks().map(({ endMs }) => (endMs - baseMs) / minuteMs);
}

/** All rows, in the order of the blocks. */
function stored(): readonly BlockRow[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const all = database.prepare('SELECT * FROM sample ORDER BY series, event_ms, ordinal').all();
  database.close();
  return all.map((each) => ({
    eventMs: Number(each['event_ms']),
    ingestedMs: Number(each['ingested_ms']),
    value: each['value'] === null ? null : Number(each['value']),
    quality: Number(each['quality']),
    ...(each['since_ms'] !== null && {
      observations: { count: Number(each['observations']), sinceMs: Number(each['since_ms']) },
    }),
  }));
}

/** Blocks equal their rows, do not overlap, and never include the quarter hour of the newest row. */
function expectSound(): number {
  const rows = stored();
  const openMs = Math.ceil((rows.at(-1)?.eventMs ?? 0) / quarterMs) * quarterMs - quarterMs;
  let before = Number.NEGATIVE_INFINITY;
  const all = blocks();
  for (const block of all) {
    expect(block.rows).toEqual(rows.filter(({ eventMs }) => eventMs > block.afterMs && eventMs <= block.endMs));
    expect(block.afterMs).toBeGreaterThanOrEqual(before);
    expect(block.endMs).toBeLessThanOrEqual(openMs);
    before = block.endMs;
  }
  return all.length;
}

/** Everything that can be read of six hours. */
async function read(historian: Historian): Promise<unknown> {
  const window = { series, duplicatePolicy: 'latest', maxSourceSkewMs: 1000, range: { minimum: -3 } } as const;
  const requests: readonly WindowRequest[] = [
    { ...window, asOfMs: baseMs + 24 * quarterMs, cadenceMs: 24 * quarterMs, steps: 1, aggregation: 'mean' },
    { ...window, asOfMs: baseMs + 23 * quarterMs + 777, cadenceMs: 999_999, steps: 20, aggregation: 'sum' },
    { ...window, asOfMs: baseMs + 20 * quarterMs, cadenceMs: 37_000, steps: 400, aggregation: 'trend' },
    {
      ...window,
      asOfMs: baseMs + 24 * quarterMs,
      cadenceMs: quarterMs,
      steps: 24,
      aggregation: 'last',
      knownAtMs: baseMs + 10 * quarterMs,
    },
  ];
  const snapshot = await historian.snapshot();
  const answers: unknown[] = [];
  for (const request of requests) answers.push(await snapshot.window(request));
  await snapshot.close();
  const readings: unknown[] = [];
  for await (const { eventMs, values, quality: codes } of historian.readings({
    series,
    fromMs: baseMs + 5000,
    toMs: baseMs + 20 * quarterMs,
  }))
    eventMs.forEach((ms, at) => readings.push([ms, values[at], codes[at]]));
  return { answers, readings };
}

async function expectSame(): Promise<void> {
  const answers: unknown[] = [];
  for (const useBlocks of [true, false]) {
    const historian = openHistorian(file, testHistoryLimits, { useRollups: false, useBlocks, standsMs: minuteMs });
    answers.push(await read(historian));
    await historian.close();
  }
  expect(answers[0]).toEqual(answers[1]);
}

type Operation =
  | { readonly kind: 'append'; readonly rows: readonly HistoryRow[] }
  | { readonly kind: 'delete'; readonly fromMs: number; readonly toMs: number }
  | { readonly kind: 'prune'; readonly beforeMs: number; readonly rowsMax: number };

const given = fc.record({
  second: fc.oneof(
    fc.integer({ min: 0, max: 20_000 }),
    fc.integer({ min: 0, max: 4 }).map((quarter) => quarter * 900),
  ),
  value: fc.option(fc.integer({ min: -5, max: 5 }), { freq: 9 }),
  late: fc.integer({ min: -3000, max: 9_000_000 }),
  observations: fc.option(
    fc.record({ count: fc.integer({ min: 1, max: 9 }), beforeMs: fc.integer({ min: 9, max: 2_000_000 }) }),
  ),
});
const operations: fc.Arbitrary<readonly Operation[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.array(given, { minLength: 1, maxLength: 40 }).map(
        (rows): Operation => ({
          kind: 'append',
          rows: rows.map(({ second, value, late, observations }) => {
            const eventMs = baseMs + second * 1000;
            const observed = observations !== null && {
              observations: { count: observations.count, sinceMs: eventMs - observations.beforeMs },
            };
            return row(second * 1000, value, { ingestedMs: eventMs + late, ...observed });
          }),
        }),
      ),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 1, max: 20_000 }))
        .map(([from, seconds]): Operation => {
          const fromMs = baseMs + from * 1000;
          return { kind: 'delete', fromMs, toMs: fromMs + seconds * 1000 };
        }),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.integer({ min: 0, max: 24 }), fc.integer({ min: 1, max: 50 }))
        .map(([quarter, rowsMax]): Operation => ({ kind: 'prune', beforeMs: baseMs + quarter * quarterMs, rowsMax })),
    },
  ),
  { minLength: 1, maxLength: 8 },
);

function carryOut(operation: Operation): void {
  if (operation.kind === 'append') store.append(operation.rows, {});
  else if (operation.kind === 'prune') store.prune(operation.beforeMs, operation.rowsMax);
  else
    for (let fromMs: number | null = operation.fromMs; fromMs !== null; )
      fromMs = store.delete({ series, fromMs, toMs: operation.toMs }).nextMs;
}

test('random additions, deletions and removals', async () => {
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(operations, async (all) => {
      again();
      for (const operation of all) {
        carryOut(operation);
        seen += expectSound();
      }
      await expectSame();
    }),
    { numRuns: 120 },
  );
  expect(seen).toBeGreaterThan(500);
});

test('a block ends with the quarter hour in which it has enough rows; the open quarter hour has no block', () => {
  store.append(minutes(1, 14), {});
  expect(ends()).toEqual([]);
  store.append(minutes(15, 2), {});
  // 15 rows of one quarter hour exceed the size of a block.
  expect(ends()).toEqual([]);
  again();
  store.append([row(1000, 1), row(2000, 2), row(quarterMs, 3)], {});
  store.append([row(quarterMs + 1, 4), row(2 * quarterMs, 5), row(2 * quarterMs + 1, 6)], {});
  expect(ends()).toEqual([30]);
  expect(expectSound()).toBe(1);
});

test.each([
  [12, [15]],
  [13, []],
])('a quarter hour with %i rows, where a block may have 12', (count, expected) => {
  const rows = Array.from({ length: count }, (_, second) => row((second + 1) * 1000, second));
  store.append([...rows, row(quarterMs + 1, 0)], {});
  expect(ends()).toEqual(expected);
});

test('rows of a file of before get their blocks bit by bit, as rows are added', async () => {
  writer.close();
  // As an edition without blocks stored them.
  begin({ ...small, rowsMin: Number.POSITIVE_INFINITY });
  store.append(
    Array.from({ length: 40 }, (_, index) => row((index + 1) * 300_000, index)),
    {},
  );
  writer.close();
  begin(small);
  const counts: number[] = [];
  for (let second = 1; second <= 8; second++) {
    store.append([row(40 * 300_000 + second * 1000, second)], {});
    counts.push(expectSound());
  }
  // Each addition copies more than six rows, which is what two quarter hours hold.
  expect(counts).toEqual([2, 4, 6, 6, 6, 6, 6, 6]);
  await expectSame();
});

test('a transaction copies a bounded number of rows over all series, and the next ones copy the rest', () => {
  const other = { instance: 3, point: 1 };
  const quarters = [0, 1, 2].flatMap((quarter) =>
    [1, 2, 3, 4].flatMap((second) => {
      const each = row(quarter * quarterMs + second * 1000, second);
      return [each, { ...each, series: other }];
    }),
  );
  writer.close();
  begin({ ...small, rowsMin: Number.POSITIVE_INFINITY });
  store.append(quarters, {});
  writer.close();
  begin(small);
  const counts: number[] = [];
  for (let second = 1; second <= 4; second++) {
    const each = row(3 * quarterMs + second * 1000, 0);
    store.append([each, { ...each, series: other }], {});
    counts.push(blocks().length);
  }
  // Six rows and the two added: two blocks of four.
  expect(counts).toEqual([2, 4, 6, 6]);
});

test('a late row whose block there was no time for has it later, between others', () => {
  const full = [1, 2, 3, 4].map((second) => second * 1000);
  const quarters = [0, 1, 2, 3, 4].flatMap((quarter) => full.map((ms) => row(quarter * quarterMs + ms, 1)));
  store.append(quarters, {});
  expect(ends()).toEqual([15, 30, 45, 60]);
  // Three blocks change, and the time allows for two.
  store.append(
    [0, 1, 2].map((quarter) => row(quarter * quarterMs + 5000, 2)),
    {},
  );
  expect(ends()).toEqual([15, 30, 60]);
  store.append([row(4 * quarterMs + 5000, 3)], {});
  expect(ends()).toEqual([15, 30, 45, 60]);
  expect(expectSound()).toBe(4);
});

test('a late row is in its block', () => {
  store.append(
    [1, 2, 3, 4, 950].map((second) => row(second * 1000, second)),
    {},
  );
  expect(blocks()[0]?.rows).toHaveLength(4);
  store.append([row(3500, 9), row(3000, 7)], {});
  expect(blocks()[0]?.rows.map(({ value }) => value)).toEqual([1, 2, 3, 7, 9, 4]);
});

test('rows of a wrong clock leave no block in the quarter hour that is open without them', () => {
  store.append(
    [1, 2, 3, 4].map((second) => row(second * 1000, second)),
    {},
  );
  store.append([row(86_400_000, 1)], {});
  expect(ends()).toEqual([15]);
  store.delete({ series, fromMs: baseMs + quarterMs, toMs: baseMs + 2 * 86_400_000 });
  expect(ends()).toEqual([]);
  store.append([row(5000, 5)], {});
  store.append([row(quarterMs + 1, 6)], {});
  expect(blocks()[0]?.rows).toHaveLength(5);
});

test('a row that loses observations to a deletion in another quarter hour loses them in its block too', () => {
  const run = { count: 10, sinceMs: baseMs + 1500 };
  const behind = [1, 2, 3].map((minute) => row((20 + minute) * minuteMs, minute));
  store.append(
    [
      ...[10, 20, 30, 1000, 1200].map((ms) => row(ms, 1)),
      row(20 * minuteMs, 7, { observations: run }),
      ...behind,
      row(31 * minuteMs, 0),
    ],
    {},
  );
  expect(
    blocks()
      .at(-1)
      ?.rows.find(({ value }) => value === 7)?.observations,
  ).toEqual(run);
  store.delete({ series, fromMs: baseMs + 1000, toMs: baseMs + 2000 });
  expectSound();
  expect(
    blocks()
      .at(-1)
      ?.rows.find(({ value }) => value === 7)?.observations?.sinceMs,
  ).toBe(baseMs + 1999);
});

test.each([15, 16, 17, 24])('a read over %i blocks, in portions of 16', async (count) => {
  const quarters = Array.from({ length: count + 1 }, (_, quarter) =>
    [1, 2, 3, 4].map((second) => row(quarter * quarterMs + second * 1000, second)),
  );
  store.append(quarters.flat(), {});
  expect(blocks()).toHaveLength(count);
  await expectSame();
});

test('with the limits of the product: blocks of at least 512 rows, with a value per second and per minute', async () => {
  again();
  writer.close();
  begin(blockLimits);
  store.append(
    Array.from({ length: 5000 }, (_, second) => row(second * 1000, second % 50)),
    {},
  );
  expect(blocks().map(({ rows }) => rows.length)).toEqual([901, 900, 900, 900, 900]);
  again();
  writer.close();
  begin(blockLimits);
  store.append(minutes(1, 1100), {});
  expect(blocks().map(({ rows }) => rows.length)).toEqual([525, 525]);
  await expectSame();
  const historian = openHistorian(file, testHistoryLimits);
  expect(await exportedRows(historian, { series })).toHaveLength(1100);
  await historian.close();
});
