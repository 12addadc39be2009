/**
 * The contract of every historian, on either engine and on hypertables: values as known at a time, retention, and rollups that
 * are used only where they may be.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { quality } from '../site/quality.ts';
import {
  exportedRows,
  type HistoryEngine,
  historyEngines,
  type TestHistory,
  testHistory,
  testHistoryLimits,
} from '../testing/histories.ts';
import type { DeletedPortion, Historian, HistoryRow, WindowAnswer, WindowRequest } from './historian.ts';
import { openHistorian } from './open-historian.ts';

const minuteMs = 60_000;
const quarterMs = 900_000;
const series = { instance: 2, point: 1 };
const baseMs = Date.UTC(2026, 6, 11);

let history: TestHistory;
let historian: Historian;

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

/** Each test begins with an empty store. */
function rig(engine: HistoryEngine): void {
  beforeAll(async () => {
    history = await testHistory(engine);
    historian = history.historian;
  });
  afterAll(() => history.remove());
  beforeEach(() => history.clear());
}

describe.each(historyEngines)('[data-processing §4.2] the store on %s', (engine) => {
  rig(engine);

  test('the store of a closed historian', async () => {
    const other = openHistorian(history.place, testHistoryLimits);
    await other.append(minutes(1));
    await other.close();
    expect(await refused(() => other.snapshot())).toBe('source-unavailable');
    expect(await refused(() => other.append([]))).toBe('storage-unavailable');
  });

  test('snapshots_max: as many may be open, not one more, and a closed one makes room', async () => {
    const few = openHistorian(history.place, { ...testHistoryLimits, snapshots_max: 2 });
    await few.append(minutes(1));
    const first = await few.snapshot();
    const second = await few.snapshot();
    expect(await refused(() => few.snapshot())).toBe('source-unavailable');
    await first.close();
    // Closing it twice makes room only once.
    await first.close();
    await (await few.snapshot()).close();
    await second.close();
    await few.close();
  });

  test('an append is stored whole or not at all', async () => {
    const bad = { ...row(2 * minuteMs, 1), quality: 9 as never };
    expect(await refused(() => historian.append([...minutes(1), bad]))).toBe('storage-unavailable');
    await historian.append([]);
    expect(await exportedRows(historian, { series })).toEqual([]);
    await expect(historian.append([row(0, Number.POSITIVE_INFINITY)])).rejects.toThrow('finite');
    expect(await exportedRows(historian, { series })).toEqual([]);
  });
});

describe.each(historyEngines)('a reading is stored once on %s, however often it is tried', (engine) => {
  rig(engine);

  test('[data-processing §4.2] a read ends with its deadline, between two turns; the next one on the snapshot is whole', async () => {
    const seconds = Array.from({ length: 20_000 }, (_, index) => row((index + 1) * 1000, index));
    await historian.append(seconds);
    const snapshot = await historian.snapshot();
    const asked = request({ asOfMs: baseMs + 20_000_000, cadenceMs: 37_000, steps: 540, aggregation: 'mean' });
    const giveUp = new AbortController();
    const reading = snapshot.window(asked, giveUp.signal);
    giveUp.abort(new Error('deadline'));
    await expect(reading).rejects.toThrow('deadline');
    await expect(snapshot.window(asked, giveUp.signal)).rejects.toThrow('deadline');
    expect((await snapshot.window(asked)).rows).toBe(540 * 37);
    await snapshot.close();
  });

  test('[points §6.2] deleted rows are removed from rows and rollups, and later rows no longer represent them', async () => {
    // Ten hours: more than one portion. Each tenth row stands for the ten seconds since the one before.
    const rows = Array.from({ length: 3600 }, (_, index) => {
      const atMs = (index + 1) * 10_000;
      const observations = { count: 10, sinceMs: baseMs + atMs - 10_000 };
      return row(atMs, index % 7 === 0 ? null : index, index % 10 === 0 ? { observations } : {});
    });
    await historian.append(rows);
    await historian.append([row(8_000_000, 5), row(8_000_000, 6)]);
    const [fromMs, toMs] = [baseMs + 1_234_567, baseMs + 9 * 3_600_000 + 3];
    const before = await history.contents();
    expect(await historian.delete({ series, fromMs: toMs, toMs: toMs + 1 })).toEqual({ rows: 0, nextMs: null });
    expect(await historian.delete({ series: { instance: 9, point: 9 }, fromMs, toMs })).toEqual({
      rows: 0,
      nextMs: null,
    });
    expect(await history.contents()).toBe(before);
    let deleted = 0;
    for (let next: number | null = fromMs; next !== null; ) {
      const portion: DeletedPortion = await historian.delete({ series, fromMs: next, toMs });
      deleted += portion.rows;
      next = portion.nextMs;
    }
    const kept = rows.filter(({ eventMs }) => eventMs < fromMs || eventMs >= toMs);
    expect(deleted).toBe(rows.length + 2 - kept.length);
    expect((await exportedRows(historian, { series })).map(({ eventMs }) => eventMs)).toEqual(
      kept.map(({ eventMs }) => eventMs),
    );
    const whole = { asOfMs: baseMs + 10 * 3_600_000, steps: 10 * 60, cadenceMs: minuteMs };
    for (const aggregation of ['sum', 'mean', 'last', 'min'] as const) {
      const raw = openHistorian(history.place, testHistoryLimits, { useRollups: false });
      const byRows = await read({ ...whole, aggregation }, raw);
      await raw.close();
      const byRollups = await read({ ...whole, aggregation });
      expect(byRollups).toEqual(byRows);
      const empty = byRollups.cells.slice(21, 9 * 60 - 1);
      expect(empty.every(Number.isNaN)).toBe(true);
    }
  });

  test('[points §6.2] an import into a run is deleted without a trace: the recorded run keeps its observations', async () => {
    // The run crosses the end of a quarter of an hour; the import lies behind it.
    const run = { count: 60, sinceMs: baseMs + quarterMs - 30_000 };
    await historian.append([row(quarterMs - 30_000, 1), row(quarterMs + 30_000, 2, { observations: run })]);
    const whole = { aggregation: 'mean', cadenceMs: minuteMs, steps: 30 } as const;
    const before = await read(whole);
    await historian.append([row(quarterMs + 10_000, 900)]);
    const [fromMs, toMs] = [baseMs + quarterMs + 10_000, baseMs + quarterMs + 11_000];
    expect(await historian.delete({ series, fromMs, toMs })).toEqual({ rows: 1, nextMs: null });
    expect(await read(whole)).toEqual(before);
    const raw = openHistorian(history.place, testHistoryLimits, { useRollups: false });
    expect(await read(whole, raw)).toEqual(before);
    await raw.close();
  });

  test('[points §6.1] commands of an action point are a series beside the measurement of the same number', async () => {
    const commands = { ...series, kind: 'action' } as const;
    await historian.append([row(minuteMs, 1), { ...row(minuteMs, 7), series: commands }]);
    const whole = { cadenceMs: quarterMs, steps: 1, asOfMs: baseMs + quarterMs, aggregation: 'last' } as const;
    expect([...(await read(whole)).cells]).toEqual([1]);
    expect([...(await read({ ...whole, series: commands })).cells]).toEqual([7]);
    expect(await exportedRows(historian, { series: commands })).toMatchObject([{ series: commands, value: 7 }]);
    const all = { fromMs: baseMs, toMs: baseMs + quarterMs };
    expect(await historian.delete({ series: commands, ...all })).toEqual({ rows: 1, nextMs: null });
    expect([...(await read(whole)).cells]).toEqual([1]);
  });

  test('a stored row is skipped, whatever its ingestion time; another value at that time is stored', async () => {
    const given = [row(minuteMs, 1), row(2 * minuteMs, null), row(3 * minuteMs, 3)];
    await historian.append(given, { once: true });
    const again = given.map((each) => ({ ...each, ingestedMs: each.ingestedMs + 60_000 }));
    const other = row(2 * minuteMs, 7);
    expect(await historian.append([...again, other, row(4 * minuteMs, 4)], { once: true })).toEqual({
      duplicates: 1,
      skipped: 3,
    });
    expect(await exportedRows(historian, { series })).toEqual([
      given[0],
      given[1],
      other,
      given[2],
      row(4 * minuteMs, 4),
    ]);
    expect((await read({ steps: 1, asOfMs: baseMs + quarterMs })).rows).toBe(5);
    // It reports that the row is stored already.
    expect(await historian.append([row(minuteMs, 1)])).toEqual({ duplicates: 1, skipped: 0 });
  });
});

describe.each(historyEngines)('[points §6.2] Data cut, on %s', (engine) => {
  rig(engine);

  test('[points §6.2] export tells rows of one instant from the oldest to the newest, in the span, ends included', async () => {
    const late = row(minuteMs, 5, { ingestedMs: baseMs + quarterMs });
    await historian.append([
      row(3 * minuteMs, null),
      late,
      row(minuteMs, 4),
      row(2 * minuteMs, 6),
      row(4 * minuteMs, 7),
    ]);
    const span = { fromMs: baseMs + minuteMs, toMs: baseMs + 3 * minuteMs };
    expect((await exportedRows(historian, { series, ...span })).map(({ value }) => value)).toEqual([4, 5, 6, null]);
    const known = { knownAtMs: baseMs + quarterMs - 1 };
    expect((await exportedRows(historian, { series, ...span, ...known })).map(({ value }) => value)).toEqual([
      4,
      6,
      null,
    ]);
    expect(await exportedRows(historian, { series: { instance: 2, point: 2 } })).toEqual([]);
  });

  test('export hands over whole instants, in their order, wherever a portion ends', async () => {
    // Three rows an instant, the last one ingested stored first: neither engine ends a block inside an instant.
    const rows = Array.from({ length: 20_010 }, (_, index) =>
      row(Math.floor(index / 3) * 1000, index, { ingestedMs: baseMs + 60_000_000 - (index % 3) }),
    );
    await historian.append(rows);
    const portions = await Array.fromAsync(historian.export({ series }));
    expect(portions.length).toBeGreaterThan(1);
    const times = portions.map((portion) => new Set(portion.map(({ eventMs }) => eventMs)));
    expect(times.reduce((sum, { size }) => sum + size, 0)).toBe(6670);
    const wanted = rows.toSorted((a, b) => a.eventMs - b.eventMs || a.ingestedMs - b.ingestedMs);
    expect(portions.flat().map(({ value }) => value)).toEqual(wanted.map(({ value }) => value));
  });

  test('[points §6.2] data known at a past moment does not change later', async () => {
    const arrival = fc.record({
      slot: fc.integer({ min: 0, max: 90 }),
      fine: fc.constantFrom(0, 0, 1, 29_999),
      value: fc.option(fc.integer({ min: -100, max: 100 }), { nil: null, freq: 6 }),
      late: fc.constantFrom(0, 200, minuteMs, quarterMs, 2 * quarterMs),
    });
    // Each history belongs to a series of its own.
    let instance = 100;
    await fc.assert(
      fc.asyncProperty(
        fc.array(arrival, { maxLength: 80 }),
        fc.integer({ min: 0, max: 4 * quarterMs }),
        fc.constantFrom('mean', 'sum', 'min', 'max', 'last'),
        async (arrivals, cutAfterMs, aggregation) => {
          const own = { instance: instance++, point: 1 };
          const rows = arrivals.map(({ slot, fine, value, late }) =>
            row(slot * 30_000 + fine, value, { series: own, ingestedMs: baseMs + slot * 30_000 + fine + late }),
          );
          const knownAtMs = baseMs + cutAfterMs;
          const asked = { series: own, aggregation, steps: 3, asOfMs: baseMs + 3 * quarterMs } as const;
          await historian.append(rows.filter((each) => each.ingestedMs <= knownAtMs));
          const then = await read(asked);
          const exportedThen = await exportedRows(historian, { series: own });
          await historian.append(rows.filter((each) => each.ingestedMs > knownAtMs));
          // Sums may differ in the last bits where rows are read instead of rollups; these values are whole.
          expect(await read({ ...asked, knownAtMs })).toEqual(then);
          expect(await exportedRows(historian, { series: own, knownAtMs })).toEqual(exportedThen);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe.each(historyEngines)('[points §6.3] retention, on %s', (engine) => {
  rig(engine);

  test('windows over the remaining rows are correct, and contain nothing of deleted ones', async () => {
    await historian.append(minutes(60));
    expect(await historian.prune(baseMs + 20 * minuteMs, 1000)).toBe(15);
    const asked = { asOfMs: baseMs + 4 * quarterMs, steps: 4 };
    expect([...(await read(asked)).cells]).toEqual([Number.NaN, 345, 570, 795]);
    expect([...(await read({ ...asked, aggregation: 'min' })).cells]).toEqual([Number.NaN, 16, 31, 46]);
    expect([...(await read({ asOfMs: baseMs + quarterMs, steps: 1, cadenceMs: minuteMs })).cells]).toEqual([
      Number.NaN,
    ]);
    expect((await read(asked)).rows).toBe(45);
    expect(await historian.prune(baseMs + 20 * minuteMs, 1000)).toBe(0);
  });

  test('a row at the very limit stays, and portions end on quarter hours', async () => {
    await historian.append(minutes(120));
    expect(await historian.prune(baseMs + 3 * quarterMs - 1, 1000)).toBe(30);
    expect(await historian.prune(baseMs + 6 * quarterMs, 20)).toBe(15);
    expect(await historian.prune(baseMs + 6 * quarterMs, 20)).toBe(15);
    expect(await historian.prune(baseMs + 6 * quarterMs, 1)).toBe(15);
    expect(await historian.prune(baseMs + 6 * quarterMs, 20)).toBe(15);
    expect((await exportedRows(historian, { series })).length).toBe(30);
  });
});

describe.each(historyEngines)(
  '[data-processing §4.2] rollups are used only where they equal the rows, on %s',
  (engine) => {
    rig(engine);

    /** Makes every stored sum wrong, so that an answer shows whether it was read from rows or rollups. */
    const spoil = (): Promise<void> => history.run('UPDATE rollup SET sum = sum + 1000000');
    const fromRollups = (cell: number | undefined): boolean => (cell ?? 0) > 500_000;
    const source = async (more: Partial<WindowRequest> = {}, at = 0): Promise<'rollup' | 'rows'> =>
      fromRollups((await read(more)).cells[at]) ? 'rollup' : 'rows';

    test.each<[string, readonly HistoryRow[], Partial<WindowRequest>, 'rollup' | 'rows']>([
      ['plain rows', [], {}, 'rollup'],
      ['one-minute cells', [], { cadenceMs: minuteMs, steps: 30 }, 'rollup'],
      ['a grid of five minutes', [], { cadenceMs: 5 * minuteMs, steps: 6 }, 'rollup'],
      ['an hour', [], { cadenceMs: 4 * quarterMs, steps: 1, asOfMs: baseMs + 4 * quarterMs }, 'rollup'],
      ['narrow cells off the minute', [], { asOfMs: baseMs + 2 * quarterMs + 1, cadenceMs: 7 * minuteMs }, 'rows'],
      ['cells off the minute, eight of them wide', [], { asOfMs: baseMs + 30_001, cadenceMs: 8 * minuteMs }, 'rows'],
      ['wide cells off the minute', [], { asOfMs: baseMs + 2 * quarterMs + 1 }, 'rollup'],
      ['a cadence that is not a multiple', [], { cadenceMs: 90_500, steps: 10 }, 'rows'],
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
    ])('%s', async (_, more, asked, expected) => {
      await historian.append(minutes(30));
      await historian.append(more);
      await spoil();
      expect(await source(asked)).toBe(expected);
    });

    test('one quarter hour that may not be taken does not spoil its neighbours', async () => {
      await historian.append([...minutes(45), row(20 * minuteMs, 1)]);
      await spoil();
      const { cells } = await read({ asOfMs: baseMs + 3 * quarterMs, steps: 3 });
      expect([...cells].map(fromRollups)).toEqual([true, false, true]);
    });

    test('rows that arrive late and in any order update their rollups', async () => {
      await historian.append(minutes(30));
      await historian.append([row(7 * minuteMs + 500, 100)]);
      await historian.append([row(500, 50)]);
      expect([...(await read()).cells]).toEqual([120 + 150, 345]);
      expect((await read({ aggregation: 'last' })).cells[0]).toBe(15);
      expect((await read()).watermarkMs).toBe(baseMs + 30 * minuteMs);
    });
  },
);
