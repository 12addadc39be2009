/** [points §6.1]: the mean of a cell is the mean of its polls, however often rows are written and whichever way they are read. */
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { createLiveTableReader, createLiveTableWriter, createRuns } from '../points/live-table.ts';
import { createPointMemory } from '../points/shared-memory.ts';
import { quality } from '../site/quality.ts';
import { createSnapshot } from '../site/snapshot.ts';
import { engines } from '../testing/engines.ts';
import { historyOn, testHistoryLimits } from '../testing/histories.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import type { Historian, HistoryRow, WindowRequest } from './historian.ts';
import { createObserver } from './look.ts';
import { eachSpan, observedIn } from './observations.ts';
import { openHistorian } from './open-historian.ts';

const series = { instance: 2, point: 1 };
const point = { index: 0, instance: 2, id: 1, maxAgeMs: 30_000 };
const minutes = 6;
const minuteMs = 60_000;
const lookMs = testHistoryLimits.look_interval_ms;

interface Poll {
  readonly atMs: number;
  readonly value: number;
}

/** Polls over `minutes` minutes, and the rows that a recorder writes of them, looking as often as the product's. */
function recorded(pollMs: number, intervalMs: number, valueAt: (secondMs: number) => number) {
  const clock = simulatedClock();
  const memory = createPointMemory([{ channel: 0, writable: false }], 1);
  const table = createLiveTableWriter(memory, clock, [point.maxAgeMs]);
  const reader = createLiveTableReader(memory);
  const observer = createObserver([point]);
  const [snapshot, runs] = [createSnapshot(1), createRuns(1)];
  const rows: HistoryRow[] = [];
  const polls: Poll[] = [];
  // A poll falls on the end of each minute, and belongs to that minute.
  const startMs = Math.ceil(clock.wallMs() / 900_000) * 900_000;
  clock.advance(startMs - clock.wallMs());
  let [lookedMs, pending, value] = [-lookMs, false, Number.NaN];
  const look = (nowMs: number, all: boolean): void => {
    [lookedMs, pending] = [nowMs, false];
    if (reader.copyInto(snapshot, clock, runs)) rows.push(...observer.look(snapshot, runs, all));
  };
  for (let nowMs = 0; nowMs <= minutes * minuteMs; nowMs += 50) {
    if (nowMs > 0 && nowMs % pollMs === 0) {
      const next = valueAt((nowMs - 1) % minuteMs);
      polls.push({ atMs: startMs + nowMs, value: next });
      table.publish([{ index: 0, value: next, quality: quality.good }]);
      pending ||= next !== value;
      value = next;
    }
    if (pending && nowMs - lookedMs >= lookMs) look(nowMs, false);
    if (nowMs > 0 && nowMs % intervalMs === 0) look(nowMs, true);
    clock.advance(50);
  }
  return { rows, polls, startMs };
}

/** The mean of the polls in each cell; NaN where there was none. */
function meansOf(polls: readonly Poll[], { asOfMs, cadenceMs, steps }: WindowRequest): number[] {
  return Array.from({ length: steps }, (_, index) => {
    const endMs = asOfMs - (steps - 1 - index) * cadenceMs;
    const inside = polls.filter(({ atMs }) => atMs > endMs - cadenceMs && atMs <= endMs);
    return inside.reduce((sum, { value }) => sum + value, 0) / inside.length;
  });
}

function expectMeans(cells: Float64Array, means: readonly number[]): void {
  for (const [index, mean] of means.entries()) {
    if (Number.isNaN(mean)) expect(cells[index]).toBeNaN();
    else
      expect(Math.abs((cells[index] ?? Number.NaN) - mean), `cell ${index}`).toBeLessThanOrEqual(
        0.001 * Math.abs(mean),
      );
  }
}

/** 0 for 40 s, then about 1000 for 20 s. */
const load = (ms: number): number => (ms < 40_000 ? 0 : 1000 + 10 * Math.sin(ms));
const cases = [200, 1000, 10_000].flatMap((pollMs) =>
  [1000, 10_000, 60_000].map((intervalMs) => ({ pollMs, intervalMs })),
);

describe.each(engines)('[points §6.1] recorded means, on %s', (engine) => {
  const history = historyOn(engine);
  let historian: Historian;
  beforeEach(async () => {
    ({ historian } = history());
    await history().clear();
  });

  test.each(cases)('polled every $pollMs ms, recorded every $intervalMs ms', async ({ pollMs, intervalMs }) => {
    const { rows, polls, startMs } = recorded(pollMs, intervalMs, load);
    for (let from = 0; from < rows.length; from += 50)
      await historian.append(rows.slice(from, from + 50), { once: true });
    const window = { series, aggregation: 'mean', duplicatePolicy: 'reject', maxSourceSkewMs: 5000 } as const;
    for (const useRollups of [true, false]) {
      const other = openHistorian(history().place, testHistoryLimits, { useRollups, standsMs: intervalMs });
      const snapshot = await other.snapshot();
      try {
        for (const [cadenceMs, steps] of [
          [minuteMs, minutes],
          [3 * minuteMs, 2],
          [37_000, 9],
        ] as const) {
          const request: WindowRequest = { ...window, asOfMs: startMs + minutes * minuteMs, cadenceMs, steps };
          const { cells, firstDuplicateMs } = await snapshot.window(request);
          expect(firstDuplicateMs).toBeNull();
          expectMeans(cells, meansOf(polls, request));
        }
        // In the middle of a run: its newest row is still valid.
        const early: WindowRequest = {
          ...window,
          asOfMs: startMs + 5 * minuteMs + 20_000,
          cadenceMs: minuteMs,
          steps: 2,
        };
        const known = { ...early, knownAtMs: early.asOfMs };
        expectMeans((await snapshot.window(known)).cells, meansOf(polls, known));
      } finally {
        await snapshot.close();
        await other.close();
      }
    }
  });
});

test('the observations of a row lie in the spans that hold them, each in one', () => {
  const row = fc
    .record({
      sinceMs: fc.integer({ min: 0, max: 10_000_000 }),
      spanMs: fc.integer({ min: 1, max: 3_600_000 }),
      count: fc.integer({ min: 1, max: 10_000 }),
    })
    .map(({ sinceMs, spanMs, count }) => ({ eventMs: sinceMs + spanMs, observations: { count, sinceMs } }));
  fc.assert(
    fc.property(row, fc.integer({ min: 1, max: 900_000 }), (given, widthMs) => {
      let sum = 0;
      eachSpan(given, widthMs, (endMs, count) => {
        expect(count).toBe(observedIn(given, endMs - widthMs, endMs));
        sum += count;
      });
      expect(sum).toBe(given.observations.count);
    }),
  );
});
