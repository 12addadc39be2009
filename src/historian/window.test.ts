/** Windowed reads against a naive reduction over all rows, and the contract's own examples. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { quality } from '../site/quality.ts';
import { historyEngines, type TestHistory, testHistory } from '../testing/histories.ts';
import type {
  Historian,
  HistoryRow,
  SeriesAggregation,
  SeriesRange,
  WindowAnswer,
  WindowRequest,
} from './historian.ts';

const minuteMs = 60_000;
const quarterMs = 900_000;
const series = { instance: 2, point: 1 };
const baseMs = Date.UTC(2026, 6, 11, 10, 45);

let store: TestHistory;
let historian: Historian;

const at = (text: string): number => Date.parse(`2026-07-11T${text}Z`);
const row = (time: string, value: number | null, more: Partial<HistoryRow> = {}): HistoryRow => ({
  series,
  eventMs: at(time),
  ingestedMs: at(time),
  value,
  quality: value === null ? quality.missing : quality.good,
  ...more,
});
const request = (more: Partial<WindowRequest> = {}): WindowRequest => ({
  series,
  asOfMs: at('11:15:00'),
  cadenceMs: quarterMs,
  steps: 2,
  aggregation: 'mean',
  duplicatePolicy: 'latest',
  maxSourceSkewMs: 5000,
  ...more,
});
const read = async (more: Partial<WindowRequest> = {}): Promise<WindowAnswer> => {
  const snapshot = await historian.snapshot();
  try {
    return await snapshot.window(request(more));
  } finally {
    await snapshot.close();
  }
};

describe.each(historyEngines)('[data-processing §4.2] History reads on %s', (engine) => {
  beforeAll(async () => {
    store = await testHistory(engine);
    historian = store.historian;
  });
  afterAll(() => store.remove());
  beforeEach(() => store.clear());

  const three = [row('10:50:00', 10), row('10:55:00', 20), row('11:05:00', 30)];

  test.each<[SeriesAggregation, number[]]>([
    ['mean', [15, 30]],
    ['sum', [30, 30]],
    ['min', [10, 30]],
    ['max', [20, 30]],
    ['last', [20, 30]],
  ])('[data-processing §4.2] a label reduces (t-c, t] with the aggregation %s', async (aggregation, values) => {
    await historian.append(three);
    const answer = await read({ aggregation });
    expect([...answer.cells]).toEqual(values);
    expect(answer.watermarkMs).toBe(at('11:05:00'));
  });

  test('[data-processing §4.2] a row exactly on the lower edge of the first bucket is not read, one on a label belongs to it', async () => {
    await historian.append([row('10:45:00', 1), row('11:00:00', 2), row('11:15:00', 3), row('11:15:00.001', 4)]);
    const answer = await read({ aggregation: 'sum' });
    expect([[...answer.cells], answer.rows, answer.watermarkMs]).toEqual([[2, 3], 2, at('11:15:00')]);
  });

  test('[data-processing §4.3] latest takes the newest row of an instant', async () => {
    await historian.append([row('10:50:00', 10), row('10:50:00', 30), row('10:55:00', 20)]);
    const answer = await read();
    expect(answer.cells[0]).toBe(25);
    expect(answer.firstDuplicateMs).toBe(at('10:50:00'));
  });

  test('[data-processing §4.3] a newest row that is NULL makes its instant contribute nothing', async () => {
    await historian.append([row('10:50:00', 10), row('10:50:00', null), row('10:55:00', 20)]);
    expect((await read({ aggregation: 'min' })).cells[0]).toBe(20);
  });

  test('[data-processing §4.3] of rows of one instant the one ingested later is the newer, whichever was appended first', async () => {
    await historian.append([row('10:50:00', 10, { ingestedMs: at('12:00:00') })]);
    await historian.append([row('10:50:00', 99, { ingestedMs: at('11:00:00') })]);
    expect((await read({ aggregation: 'last' })).cells[0]).toBe(10);
  });

  test('[data-processing §4.2] the watermark is the newest numeric observation, not a NULL row and not the label', async () => {
    await historian.append([row('11:07:30', 1), row('11:14:30', null)]);
    expect((await read()).watermarkMs).toBe(at('11:07:30'));
  });

  test('[data-processing §4.2] thirty rows of one bucket', async () => {
    const rows = Array.from({ length: 30 }, (_, index) =>
      row('10:45:00', index + 1, { eventMs: baseMs + (index + 1) * 30_000, ingestedMs: at('11:00:00') }),
    );
    await historian.append(rows);
    expect((await read()).cells[0]).toBe(15.5);
  });

  test('[data-processing §4.2] empty buckets stay missing, and so does a series that was never recorded', async () => {
    await historian.append([row('10:50:00', 0)]);
    expect([...(await read()).cells]).toEqual([0, Number.NaN]);
    expect([...(await read({ series: { instance: 7, point: 7 } })).cells]).toEqual([Number.NaN, Number.NaN]);
  });

  test('[data-processing §4.6] a row from the future never participates; its limit is inclusive', async () => {
    await historian.append([
      row('10:50:00', 1, { ingestedMs: at('10:49:55') }),
      row('10:51:00', 100, { ingestedMs: at('10:50:54.999') }),
      row('11:14:00', 3, { ingestedMs: at('11:00:00') }),
    ]);
    const answer = await read({ aggregation: 'sum' });
    expect([...answer.cells]).toEqual([1, Number.NaN]);
    expect([answer.skewedRows, answer.rows, answer.watermarkMs]).toEqual([2, 3, at('10:50:00')]);
  });

  test('[data-processing §4.6] a skewed row is not a duplicate of the row that it came before', async () => {
    await historian.append([row('10:50:00', 5, { ingestedMs: at('10:40:00') }), row('10:50:00', 6)]);
    const answer = await read({ duplicatePolicy: 'reject', aggregation: 'sum' });
    expect([answer.cells[0], answer.firstDuplicateMs, answer.skewedRows]).toEqual([6, null, 1]);
  });

  test('[data-processing §4.5] range leaves out single rows and counts them, also where a rollup is at hand', async () => {
    await historian.append([row('10:50:00', -70), row('10:55:00', 20.5), row('11:05:00', 60)]);
    const answer = await read({ aggregation: 'sum', range: { minimum: -60, exclusive_maximum: 60 } });
    expect([...answer.cells]).toEqual([20.5, Number.NaN]);
    expect([answer.outOfRangeRows, answer.watermarkMs]).toEqual([2, at('10:55:00')]);
    expect((await read({ range: { integer: true } })).outOfRangeRows).toBe(1);
  });

  test('[data-processing §4.2] only rows ingested by the data cut are read', async () => {
    await historian.append([row('10:50:00', 1), row('10:55:00', 2, { ingestedMs: at('12:00:00') })]);
    expect((await read({ aggregation: 'sum', knownAtMs: at('11:59:59.999') })).cells[0]).toBe(1);
    expect((await read({ aggregation: 'sum', knownAtMs: at('12:00:00') })).cells[0]).toBe(3);
  });

  test('[data-processing §3.3] a cell in which an uncertain row participated is uncertain', async () => {
    await historian.append([row('10:50:00', 1, { quality: quality.uncertain }), row('11:05:00', 2)]);
    expect([...(await read()).uncertainCells]).toEqual([1, 0]);
  });

  test('a sum that overflows is missing, not infinite', async () => {
    await historian.append([row('10:50:00', 1e308), row('10:51:00', 1e308), row('11:05:00', 1)]);
    expect([...(await read({ aggregation: 'sum' })).cells]).toEqual([Number.NaN, 1]);
  });

  test('[data-processing §4.2] every read of one snapshot sees the same rows', async () => {
    await historian.append([row('10:50:00', 1)]);
    const snapshot = await historian.snapshot();
    await historian.append([row('10:55:00', 3)]);
    expect((await snapshot.window(request())).cells[0]).toBe(1);
    await snapshot.close();
    expect((await read()).cells[0]).toBe(2);
  });
});

describe.each(historyEngines)(
  '[data-processing §4.2] windows equal a naive reduction over all random rows on %s',
  (engine) => {
    beforeAll(async () => {
      store = await testHistory(engine);
      historian = store.historian;
    });
    afterAll(() => store.remove());

    const spanMs = 8 * quarterMs;
    const rowArbitrary = fc
      .record({
        // Coarse times collide often, fine ones fall on and around the edges.
        offset: fc.oneof(
          fc.integer({ min: 0, max: spanMs / 30_000 }).map((n) => n * 30_000),
          fc.integer({ min: 0, max: 8 }).map((n) => n * quarterMs),
          fc.integer({ min: 0, max: spanMs }),
        ),
        value: fc.oneof(
          { weight: 6, arbitrary: fc.double({ min: -1000, max: 1000, noNaN: true }) },
          { weight: 3, arbitrary: fc.integer({ min: -5, max: 5 }) },
          { weight: 2, arbitrary: fc.constant(null) },
          { weight: 1, arbitrary: fc.constantFrom(0, -0, 1e15, -1e15, 1e-9) },
        ),
        lagMs: fc.oneof(
          { weight: 10, arbitrary: fc.integer({ min: 0, max: 2000 }) },
          { weight: 1, arbitrary: fc.integer({ min: 0, max: 5 * quarterMs }) },
          { weight: 1, arbitrary: fc.constantFrom(-5000, -5001, -600_000, -1) },
        ),
        uncertain: fc.boolean(),
        point: fc.constantFrom(1, 1, 1, 2),
      })
      .map(
        ({ offset, value, lagMs, uncertain, point }): HistoryRow => ({
          series: { instance: 2, point },
          eventMs: baseMs + offset,
          ingestedMs: baseMs + offset + lagMs,
          value,
          quality: value === null ? quality.missing : uncertain ? quality.uncertain : quality.good,
        }),
      );
    const rangeArbitrary: fc.Arbitrary<SeriesRange | undefined> = fc.constantFrom(
      undefined,
      undefined,
      { minimum: -500, maximum: 500 },
      { exclusive_minimum: -5, exclusive_maximum: 5 },
      { integer: true },
      { minimum: -2000, maximum: 2000 },
    );
    const requestArbitrary = fc
      .record({
        cadenceMs: fc.constantFrom(
          quarterMs,
          quarterMs,
          2 * quarterMs,
          minuteMs,
          5 * minuteMs,
          7 * minuteMs,
          1000 * 37,
          // Wide, and cut by labels: rollups inside, rows at the edges.
          10 * minuteMs + 1000,
          35 * minuteMs + 700,
          // Rollups of two widths, one after the other.
          121 * minuteMs,
          125 * minuteMs + 300,
        ),
        steps: fc.integer({ min: 1, max: 9 }),
        // On and off the edges of rollups.
        asOf: fc.oneof(
          fc.integer({ min: 1, max: 9 }).map((n) => n * quarterMs),
          fc.integer({ min: 1, max: 130 }).map((n) => n * minuteMs),
          fc.integer({ min: 1, max: spanMs }),
        ),
        aggregation: fc.constantFrom<WindowRequest['aggregation']>('mean', 'sum', 'min', 'max', 'last', 'trend'),
        duplicatePolicy: fc.constantFrom<'latest' | 'reject'>('latest', 'reject'),
        maxSourceSkewMs: fc.constantFrom(0, 5000, 3_600_000),
        range: rangeArbitrary,
        knownAt: fc.option(fc.integer({ min: 0, max: spanMs + quarterMs }), { nil: undefined, freq: 3 }),
      })
      .map(
        ({ asOf, knownAt, range, ...rest }): WindowRequest => ({
          series,
          asOfMs: baseMs + asOf,
          ...rest,
          ...(range === undefined ? {} : { range }),
          ...(knownAt === undefined ? {} : { knownAtMs: baseMs + knownAt }),
        }),
      );

    test('cells, counts, watermark, uncertainty and the first duplicate', async () => {
      // Each history belongs to series of its own.
      let instance = 100;
      await fc.assert(
        fc.asyncProperty(
          fc.array(rowArbitrary, { maxLength: 120 }),
          fc.array(requestArbitrary, { minLength: 1, maxLength: 6 }),
          fc.integer({ min: engine === 'sqlite' ? 1 : 15, max: 50 }),
          async (given, requests, batch) => {
            const own = instance++;
            const rows = given.map((each) => ({ ...each, series: { ...each.series, instance: own } }));
            for (let from = 0; from < rows.length; from += batch)
              await historian.append(rows.slice(from, from + batch));
            const snapshot = await historian.snapshot();
            try {
              for (const request of requests) {
                const asked = { ...request, series: { ...request.series, instance: own } };
                expectSame(await snapshot.window(asked), naive(rows, asked), asked.aggregation);
              }
            } finally {
              // A transaction left open would block the next append.
              await snapshot.close();
            }
          },
        ),
        { numRuns: engine === 'sqlite' ? 150 : 60 },
      );
    });
  },
);

interface Naive {
  readonly trend: readonly (readonly (number | null)[])[];
  readonly cells: readonly (number | null)[];
  readonly magnitudes: readonly number[];
  readonly watermarkMs: number | null;
  readonly rows: number;
  readonly skewedRows: number;
  readonly skewedSpan: WindowAnswer['skewedSpan'];
  readonly outOfRangeRows: number;
  readonly outOfRangeSpan: WindowAnswer['outOfRangeSpan'];
  readonly uncertain: readonly boolean[];
  readonly firstDuplicateMs: number | null;
}

/** Label by label, row by row, as the contract defines it. */
function naive(all: readonly HistoryRow[], asked: WindowRequest): Naive {
  const startMs = asked.asOfMs - asked.steps * asked.cadenceMs;
  const known = all
    .map((given, order) => ({ ...given, order }))
    .filter((given) => given.series.instance === asked.series.instance && given.series.point === asked.series.point)
    .filter((given) => given.ingestedMs <= (asked.knownAtMs ?? Number.POSITIVE_INFINITY))
    .filter((given) => given.eventMs > startMs && given.eventMs <= asked.asOfMs);
  const sound = known.filter((given) => given.eventMs - given.ingestedMs <= asked.maxSourceSkewMs);
  const instants = [...new Set(sound.map((given) => given.eventMs))].toSorted((a, b) => a - b);
  const duplicates = instants.filter((instant) => sound.filter((given) => given.eventMs === instant).length > 1);
  const standing = instants.flatMap((instant) => {
    const newest = sound
      .filter((given) => given.eventMs === instant)
      .toSorted((a, b) => a.ingestedMs - b.ingestedMs || a.order - b.order)
      .at(-1);
    return newest === undefined || newest.value === null ? [] : [{ ...newest, value: newest.value }];
  });
  const participating = standing.filter(({ value }) => naiveInRange(value, asked.range ?? {}));
  const labels = Array.from(
    { length: asked.steps },
    (_, index) => asked.asOfMs - (asked.steps - 1 - index) * asked.cadenceMs,
  );
  const buckets = labels.map((label) =>
    participating.filter(({ eventMs }) => eventMs > label - asked.cadenceMs && eventMs <= label),
  );
  return {
    cells: buckets.map((bucket) =>
      naiveReduce(
        bucket.map(({ value }) => value),
        asked.aggregation,
      ),
    ),
    trend: buckets.map((bucket) => {
      const values = bucket.map(({ value }) => value);
      return [...(['min', 'max', 'last'] as const).map((each) => naiveReduce(values, each)), values.length];
    }),
    magnitudes: buckets.map((bucket) => bucket.reduce((sum, { value }) => sum + Math.abs(value), 0)),
    watermarkMs: participating.at(-1)?.eventMs ?? null,
    rows: known.length,
    skewedRows: known.length - sound.length,
    skewedSpan: naiveSpan(known.filter((given) => !sound.includes(given))),
    outOfRangeRows: standing.length - participating.length,
    outOfRangeSpan: naiveSpan(standing.filter(({ value }) => !naiveInRange(value, asked.range ?? {}))),
    uncertain: buckets.map((bucket) => bucket.some((given) => given.quality === quality.uncertain)),
    firstDuplicateMs: duplicates[0] ?? null,
  };
}

function naiveSpan(rows: readonly HistoryRow[]): WindowAnswer['skewedSpan'] {
  const times = rows.map(({ eventMs }) => eventMs);
  return rows.length === 0 ? null : { firstMs: Math.min(...times), lastMs: Math.max(...times) };
}

function naiveInRange(value: number, range: SeriesRange): boolean {
  return (
    value >= (range.minimum ?? Number.NEGATIVE_INFINITY) &&
    value <= (range.maximum ?? Number.POSITIVE_INFINITY) &&
    value > (range.exclusive_minimum ?? Number.NEGATIVE_INFINITY) &&
    value < (range.exclusive_maximum ?? Number.POSITIVE_INFINITY) &&
    (range.integer !== true || Number.isInteger(value))
  );
}

/** NaN becomes null; a trend does not distinguish -0 from 0. */
function unsigned(value: number): number | null {
  return Number.isNaN(value) ? null : value + 0;
}

function naiveReduce(values: readonly number[], aggregation: WindowRequest['aggregation']): number | null {
  if (values.length === 0) return null;
  const sum = values.reduce((total, value) => total + value, 0);
  switch (aggregation) {
    case 'mean':
    case 'trend':
      return sum / values.length;
    case 'sum':
      return sum;
    case 'min':
      return values.reduce((least, value) => (value < least ? value : least));
    case 'max':
      return values.reduce((greatest, value) => (value > greatest ? value : greatest));
    case 'last':
      return values.at(-1) ?? null;
  }
}

function expectSame(answer: WindowAnswer, expected: Naive, aggregation: WindowRequest['aggregation']): void {
  const exact = aggregation === 'min' || aggregation === 'max' || aggregation === 'last';
  expect({
    watermarkMs: answer.watermarkMs,
    rows: answer.rows,
    skewedRows: answer.skewedRows,
    skewedSpan: answer.skewedSpan,
    outOfRangeRows: answer.outOfRangeRows,
    outOfRangeSpan: answer.outOfRangeSpan,
    uncertain: [...answer.uncertainCells].map((flag) => flag === 1),
    firstDuplicateMs: answer.firstDuplicateMs,
  }).toEqual({
    watermarkMs: expected.watermarkMs,
    rows: expected.rows,
    skewedRows: expected.skewedRows,
    skewedSpan: expected.skewedSpan,
    outOfRangeRows: expected.outOfRangeRows,
    outOfRangeSpan: expected.outOfRangeSpan,
    uncertain: expected.uncertain,
    firstDuplicateMs: expected.firstDuplicateMs,
  });
  expect(answer.cells.length).toBe(expected.cells.length);
  const { trend } = answer;
  expect(trend !== null).toBe(aggregation === 'trend');
  if (trend !== null)
    expect(
      expected.trend.map((_, index) => [
        ...[trend.min, trend.max, trend.last].map((cells) => cells[index]).map((cell) => unsigned(cell ?? Number.NaN)),
        trend.observations[index],
      ]),
    ).toEqual(expected.trend.map((cells) => cells.map((cell) => unsigned(cell ?? Number.NaN))));
  expected.cells.forEach((cell, index) => {
    const got = answer.cells[index] ?? Number.NaN;
    if (cell === null) expect(got).toBeNaN();
    else if (exact) expect(got === cell).toBe(true);
    // Relative to the sum of magnitudes: cancellation leaves the naive sum's own rounding behind.
    else expect(Math.abs(got - cell)).toBeLessThanOrEqual(1e-12 * (expected.magnitudes[index] ?? 0));
  });
}
