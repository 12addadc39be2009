/** The historian's store: trouble and recovery, what was known when, retention, and rollups that are used only where they may. */
import { appendFileSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { quality } from '../rules/snapshot.ts';
import type { Historian, HistoryRow, WindowAnswer, WindowRequest } from './historian.ts';
import { historyLimits } from './limits.ts';
import { openHistorian } from './open-historian.ts';

const minuteMs = 60_000;
const quarterMs = 900_000;
const series = { instance: 2, point: 1 };
const baseMs = Date.UTC(2026, 6, 11);
const limits = { ...historyLimits, lock_wait_ms: 0 };

let folder = '';
let file = '';
let historian: Historian;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-historian-'));
  file = join(folder, 'history.sqlite');
  historian = openHistorian(file, limits);
});
afterEach(() => {
  historian.close();
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
const read = (more: Partial<WindowRequest> = {}, from = historian): WindowAnswer => {
  const snapshot = from.snapshot();
  try {
    return snapshot.window(request(more));
  } finally {
    snapshot.close();
  }
};
const refused = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
  return 'not refused';
};

describe('§4.3 a missing or inaccessible store makes only that request unavailable', () => {
  test('§4.3 no store yet, then one: a later call recovers', () => {
    expect(refused(() => historian.snapshot())).toBe('source-unavailable');
    expect(refused(() => [...historian.export({ series })])).toBe('source-unavailable');
    historian.append(minutes(15));
    expect(read().rows).toBe(15);
  });

  test('§4.3 a store that is moved away and comes back', () => {
    historian.append(minutes(15));
    expect(read().rows).toBe(15);
    const away = join(folder, 'away');
    for (const suffix of ['', '-wal', '-shm']) renameSync(`${file}${suffix}`, `${away}${suffix}`);
    expect(refused(() => historian.snapshot())).toBe('source-unavailable');
    for (const suffix of ['', '-wal', '-shm']) renameSync(`${away}${suffix}`, `${file}${suffix}`);
    expect(read().rows).toBe(15);
  });

  test('§4.3 a file that is no database, or is cut off, or of a newer format', () => {
    writeFileSync(file, 'this is not a database, however long one looks at it; '.repeat(100));
    expect(refused(() => read())).toBe('source-unavailable');
    expect(refused(() => historian.append(minutes(1)))).toBe('storage-unavailable');
    rmSync(file);
    historian.append(minutes(2000));
    historian.close();
    historian = openHistorian(file, limits);
    truncateSync(file, 8192);
    appendFileSync(file, Buffer.alloc(4096, 0xff));
    expect(refused(() => read())).toBe('source-unavailable');
    rmSync(file);
    historian.append(minutes(1));
    const newer = new DatabaseSync(file);
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    expect(refused(() => openHistorian(file, limits).snapshot())).toBe('source-unavailable');
  });

  test('the store of a closed historian', () => {
    historian.append(minutes(1));
    historian.close();
    expect(refused(() => historian.snapshot())).toBe('source-unavailable');
    expect(refused(() => historian.append([]))).toBe('storage-unavailable');
  });

  test('snapshots_max: as many may be open, not one more, and a closed one makes room', () => {
    const few = openHistorian(file, { ...limits, snapshots_max: 2 });
    few.append(minutes(1));
    const first = few.snapshot();
    const second = few.snapshot();
    expect(refused(() => few.snapshot())).toBe('source-unavailable');
    first.close();
    // Twice is once.
    first.close();
    few.snapshot().close();
    second.close();
    few.close();
  });

  test('lock_wait_ms: while another process writes, reads go on and a write is refused in time', () => {
    historian.append(minutes(1));
    const other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    expect(read().rows).toBe(1);
    expect(refused(() => historian.append(minutes(1)))).toBe('storage-unavailable');
    other.exec('ROLLBACK');
    other.close();
    expect(historian.append(minutes(1)).duplicates).toBe(1);
  });

  test('an append is stored whole or not at all', () => {
    const bad = { ...row(2 * minuteMs, 1), quality: 9 as never };
    expect(refused(() => historian.append([...minutes(1), bad]))).toBe('storage-unavailable');
    historian.append([]);
    expect([...historian.export({ series })]).toEqual([]);
    expect(() => historian.append([row(0, Number.POSITIVE_INFINITY)])).toThrow('finite');
    expect([...historian.export({ series })]).toEqual([]);
  });
});

describe('decisions §4 Data cut', () => {
  test('§4.3 export tells rows of one instant from the oldest to the newest, in the span, ends included', () => {
    const late = row(minuteMs, 5, { ingestedMs: baseMs + quarterMs });
    historian.append([row(3 * minuteMs, null), late, row(minuteMs, 4), row(2 * minuteMs, 6), row(4 * minuteMs, 7)]);
    const span = { fromMs: baseMs + minuteMs, toMs: baseMs + 3 * minuteMs };
    expect([...historian.export({ series, ...span })].map(({ value }) => value)).toEqual([4, 5, 6, null]);
    const known = { knownAtMs: baseMs + quarterMs - 1 };
    expect([...historian.export({ series, ...span, ...known })].map(({ value }) => value)).toEqual([4, 6, null]);
    expect([...historian.export({ series: { instance: 2, point: 2 } })]).toEqual([]);
  });

  test('§4.3 what was known at a past moment is the same later, whatever came in between', () => {
    const arrival = fc.record({
      slot: fc.integer({ min: 0, max: 90 }),
      fine: fc.constantFrom(0, 0, 1, 29_999),
      value: fc.option(fc.integer({ min: -100, max: 100 }), { nil: null, freq: 6 }),
      late: fc.constantFrom(0, 200, minuteMs, quarterMs, 2 * quarterMs),
    });
    let run = 0;
    fc.assert(
      fc.property(
        fc.array(arrival, { maxLength: 80 }),
        fc.integer({ min: 0, max: 4 * quarterMs }),
        fc.constantFrom('mean', 'sum', 'min', 'max', 'last'),
        (arrivals, cutAfterMs, aggregation) => {
          const store = openHistorian(join(folder, `cut-${run++}.sqlite`), limits);
          const rows = arrivals.map(({ slot, fine, value, late }) =>
            row(slot * 30_000 + fine, value, { ingestedMs: baseMs + slot * 30_000 + fine + late }),
          );
          const knownAtMs = baseMs + cutAfterMs;
          const asked = { aggregation, steps: 3, asOfMs: baseMs + 3 * quarterMs } as const;
          store.append(rows.filter((each) => each.ingestedMs <= knownAtMs));
          const then = read(asked, store);
          const exportedThen = [...store.export({ series })];
          store.append(rows.filter((each) => each.ingestedMs > knownAtMs));
          const again = read({ ...asked, knownAtMs }, store);
          const exportedAgain = [...store.export({ series, knownAtMs })];
          store.close();
          // Sums may differ in the last bits where rows are read instead of rollups; these values are whole.
          expect(again).toEqual(then);
          expect(exportedAgain).toEqual(exportedThen);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('§4.3 retention', () => {
  test('windows over what is left are right, and nothing tells of what is gone', () => {
    historian.append(minutes(60));
    expect(historian.prune(baseMs + 20 * minuteMs, 1000)).toBe(15);
    const asked = { asOfMs: baseMs + 4 * quarterMs, steps: 4 };
    expect([...read(asked).cells]).toEqual([Number.NaN, 345, 570, 795]);
    expect([...read({ ...asked, aggregation: 'min' }).cells]).toEqual([Number.NaN, 16, 31, 46]);
    expect([...read({ asOfMs: baseMs + quarterMs, steps: 1, cadenceMs: minuteMs }).cells]).toEqual([Number.NaN]);
    expect(read(asked).rows).toBe(45);
    expect(historian.prune(baseMs + 20 * minuteMs, 1000)).toBe(0);
  });

  test('a row at the very limit stays, and portions end on quarter hours', () => {
    historian.append(minutes(120));
    expect(historian.prune(baseMs + 3 * quarterMs - 1, 1000)).toBe(30);
    expect(historian.prune(baseMs + 6 * quarterMs, 20)).toBe(15);
    expect(historian.prune(baseMs + 6 * quarterMs, 20)).toBe(15);
    expect(historian.prune(baseMs + 6 * quarterMs, 1)).toBe(15);
    expect(historian.prune(baseMs + 6 * quarterMs, 20)).toBe(15);
    expect([...historian.export({ series })].length).toBe(30);
  });
});

describe('decisions §4 rollups are used only where they equal the rows', () => {
  /** Makes every stored sum wrong, so that an answer shows what it was read from. */
  const spoil = (): void => {
    const other = new DatabaseSync(file);
    other.exec('UPDATE rollup SET sum = sum + 1000000');
    other.close();
  };
  const fromRollups = (cell: number | undefined): boolean => (cell ?? 0) > 500_000;
  const source = (more: Partial<WindowRequest> = {}, at = 0): 'rollup' | 'rows' =>
    fromRollups(read(more).cells[at]) ? 'rollup' : 'rows';

  test.each<[string, readonly HistoryRow[], Partial<WindowRequest>, 'rollup' | 'rows']>([
    ['plain rows', [], {}, 'rollup'],
    ['one-minute cells', [], { cadenceMs: minuteMs, steps: 30 }, 'rollup'],
    ['a grid of five minutes', [], { cadenceMs: 5 * minuteMs, steps: 6 }, 'rollup'],
    ['an hour', [], { cadenceMs: 4 * quarterMs, steps: 1, asOfMs: baseMs + 4 * quarterMs }, 'rollup'],
    ['a grid off the minute', [], { asOfMs: baseMs + 2 * quarterMs + 1 }, 'rows'],
    ['a cadence that is no multiple', [], { cadenceMs: 90_500, steps: 10 }, 'rows'],
    ['a duplicate', [row(minuteMs, 3)], {}, 'rows'],
    ['a NULL at a new instant', [row(minuteMs + 1, null)], {}, 'rollup'],
    ['a NULL over a value', [row(minuteMs, null)], {}, 'rows'],
    ['a row from the future', [row(minuteMs + 1, 3, { ingestedMs: baseMs + minuteMs - 5000 })], {}, 'rows'],
    ['a row at the limit of skew', [row(minuteMs + 1, 3, { ingestedMs: baseMs + minuteMs - 4999 })], {}, 'rollup'],
    ['a value outside the range', [], { range: { exclusive_minimum: 1 } }, 'rows'],
    ['values at the edge of the range', [], { range: { minimum: 1, maximum: 15 } }, 'rollup'],
    ['a fraction where whole numbers are wanted', [row(minuteMs + 1, 3.5)], { range: { integer: true } }, 'rows'],
    ['whole numbers where they are wanted', [], { range: { integer: true } }, 'rollup'],
    ['a data cut before the newest row', [], { knownAtMs: baseMs + quarterMs - 1 }, 'rows'],
    ['a data cut at the newest row', [], { knownAtMs: baseMs + quarterMs }, 'rollup'],
  ])('%s', (_, more, asked, expected) => {
    historian.append(minutes(30));
    historian.append(more);
    spoil();
    expect(source(asked)).toBe(expected);
  });

  test('one quarter hour that may not be taken does not spoil its neighbours', () => {
    historian.append([...minutes(45), row(20 * minuteMs, 1)]);
    spoil();
    const { cells } = read({ asOfMs: baseMs + 3 * quarterMs, steps: 3 });
    expect([...cells].map(fromRollups)).toEqual([true, false, true]);
  });

  test('rows that come late and in any order bring their rollups up to date', () => {
    historian.append(minutes(30));
    historian.append([row(7 * minuteMs + 500, 100)]);
    historian.append([row(500, 50)]);
    expect([...read().cells]).toEqual([120 + 150, 345]);
    expect(read({ aggregation: 'last' }).cells[0]).toBe(15);
    expect(read().watermarkMs).toBe(baseMs + 30 * minuteMs);
  });
});
