/** Readings are the rows of an export, the newest of each instant [rules §10.2], on both engines. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { quality } from '../site/quality.ts';
import { exportedRows, historyEngines, type TestHistory, testHistory } from '../testing/histories.ts';
import type { HistoryRow } from './historian.ts';
import { readingsPortion } from './window-queries.ts';

const series = { instance: 2, point: 1 };
const baseMs = Date.UTC(2026, 6, 11);
type Reading = readonly [eventMs: number, value: number | null, quality: number];

function rowAt(eventMs: number, value: number | null, ingestedMs = eventMs): HistoryRow {
  return { series, eventMs, ingestedMs, value, quality: value === null ? quality.missing : quality.good };
}

describe.each(historyEngines)('readings on %s', (engine) => {
  let history: TestHistory;
  beforeAll(async () => {
    history = await testHistory(engine);
  });
  afterAll(() => history.remove());
  beforeEach(() => history.clear());

  const readings = async (fromMs: number, toMs: number): Promise<Reading[]> => {
    const read: Reading[] = [];
    for await (const { eventMs, values, quality: codes } of history.historian.readings({ series, fromMs, toMs }))
      eventMs.forEach((ms, at) => {
        const value = values[at] ?? Number.NaN;
        read.push([ms, Number.isNaN(value) ? null : value, codes[at] ?? Number.NaN]);
      });
    return read;
  };
  const expected = async (fromMs: number, toMs: number): Promise<Reading[]> => {
    const newest = new Map<number, Reading>();
    for (const row of await exportedRows(history.historian, { series, fromMs, toMs }))
      newest.set(row.eventMs, [row.eventMs, row.value, row.quality]);
    return [...newest.values()];
  };

  test('for any stored rows and any request', async () => {
    const stored = fc.record({
      second: fc.integer({ min: 0, max: 12 }),
      value: fc.option(fc.integer({ min: -5, max: 5 })),
      late: fc.integer({ min: 0, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(stored, { maxLength: 30 }), fc.nat(13), fc.nat(13), async (rows, from, width) => {
        await history.clear();
        await history.historian.append(
          rows.map(({ second, value, late }) => {
            const eventMs = baseMs + second * 1000;
            return rowAt(eventMs, value, eventMs + late);
          }),
        );
        const span = [baseMs + from * 1000, baseMs + (from + width) * 1000] as const;
        expect(await readings(...span)).toEqual(await expected(...span));
      }),
      { numRuns: 40 },
    );
  });

  test.each([-2, -1, 0, 1])('an instant of three rows at %i of where a portion ends', async (beside) => {
    const several = readingsPortion + beside;
    const rows = Array.from({ length: readingsPortion + 10 }, (_, index) => rowAt(baseMs + index * 1000, index));
    const again = [7, 8].map((value) => rowAt(baseMs + several * 1000, value, baseMs + 10_000_000 - value));
    await history.historian.append([...rows, ...again]);
    const read = await readings(baseMs, baseMs + rows.length * 1000);
    expect(read).toHaveLength(rows.length);
    // The one ingested last, although it was not stored last.
    expect(read[several]).toEqual([baseMs + several * 1000, 7, quality.good]);
    expect(read).toEqual(await expected(baseMs, baseMs + rows.length * 1000));
  });

  test('an event time whose rows fill a portion is one reading, and the next rows are read', async () => {
    const same = Array.from({ length: readingsPortion + 5 }, (_, index) => rowAt(baseMs, index, baseMs + index));
    await history.historian.append([rowAt(baseMs - 1000, 1), ...same, rowAt(baseMs + 1000, 2)]);
    expect(await readings(baseMs - 1000, baseMs + 1000)).toEqual([
      [baseMs - 1000, 1, quality.good],
      [baseMs, readingsPortion + 4, quality.good],
      [baseMs + 1000, 2, quality.good],
    ]);
  });

  test('an empty series', async () => {
    expect(await readings(0, baseMs)).toEqual([]);
  });
});
