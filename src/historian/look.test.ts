/** The rows recorded from one look at the live table [points §6.1]. */
import { describe, expect, test } from 'vitest';
import { createRuns } from '../points/live-table.ts';
import { type QualityCode, quality } from '../site/quality.ts';
import type { Snapshot } from '../site/snapshot.ts';
import { testSnapshot } from '../testing/site-builder.ts';
import { createObserver as createBareObserver, type Earlier, type RecordedPoint, recordedPoints } from './look.ts';
import { observationsMsMax } from './observations.ts';

const wallMs = 1_700_000_000_000;
const points = [{ index: 0, instance: 2, id: 1, maxAgeMs: 5000 }];

/** The table at a monotonic moment; wall time advances with it. */
function table(value: number | null, nowMs: number, observedMs = nowMs, code: QualityCode = quality.good) {
  const snapshot = testSnapshot([value], nowMs, wallMs + nowMs);
  snapshot.observedMs[0] = observedMs;
  snapshot.quality[0] = value === null && code === quality.good ? quality.missing : code;
  return snapshot;
}

/** An observer that counts the changes it is shown, as the live table does. */
function createObserver(of: readonly RecordedPoint[]) {
  const observer = createBareObserver(of);
  const runs = createRuns(10);
  const before = { value: Number.NaN, code: -1, observedMs: Number.NaN };
  return {
    look(snapshot: Snapshot, all: boolean) {
      const [value, code, observedMs] = [snapshot.values[0], snapshot.quality[0], snapshot.observedMs[0]] as [
        number,
        number,
        number,
      ];
      if ((code === quality.good || code === quality.uncertain) && observedMs !== before.observedMs) {
        runs.observations[0] = (runs.observations[0] ?? 0) + 1;
        runs.lastMs[0] = observedMs;
        if (value !== before.value || code !== before.code) {
          runs.runs[0] = (runs.runs[0] ?? 0) + 1;
          runs.first[0] = runs.observations[0];
          runs.beforeMs[0] = Number.isNaN(before.value) ? Number.NaN : before.observedMs;
        }
      }
      Object.assign(before, { value, code, observedMs });
      return observer.look(snapshot, runs, all);
    },
  };
}

/** [event, value, quality] of each row; event times count from the start of the wall clock. */
const shown = (rows: ReturnType<ReturnType<typeof createObserver>['look']>) =>
  rows.map((row) => [row.eventMs - wallMs, row.value, row.quality]);

describe('[points §6.1] recorded rows', () => {
  test('[points §6.1] only measurement points with record: true', () => {
    const point = { index: 0, instance: 1, id: 1, maxAgeMs: 1000 };
    const site = [
      { ...point, kind: 'measurement', record: true },
      { ...point, kind: 'measurement', record: false },
      { ...point, kind: 'action', record: true },
    ] as unknown as Parameters<typeof recordedPoints>[0];
    expect(recordedPoints(site)).toEqual([point]);
  });

  test('[points §6.1] the event time is when the value was observed, the ingestion time is now', () => {
    const rows = createObserver(points).look(table(7, 3000, 2400), false);
    expect(rows).toEqual([
      {
        series: { instance: 2, point: 1 },
        eventMs: wallMs + 2400,
        ingestedMs: wallMs + 3000,
        value: 7,
        quality: quality.good,
      },
    ]);
  });

  test('a reading is recorded once; an unchanged newer one only if all are requested', () => {
    const observer = createObserver(points);
    expect(shown(observer.look(table(7, 1000), false))).toEqual([[1000, 7, quality.good]]);
    expect(observer.look(table(7, 1100, 1000), true)).toEqual([]);
    expect(observer.look(table(7, 1200), false)).toEqual([]);
    expect(shown(observer.look(table(7, 2000), true))).toEqual([[2000, 7, quality.good]]);
    expect(shown(observer.look(table(8, 2100), false))).toEqual([[2100, 8, quality.good]]);
  });

  test('observationsMsMax: a row represents the readings of so long a time, not of more', () => {
    const observationsAfter = (ms: number) => {
      const observer = createObserver(points);
      observer.look(table(7, 1000), true);
      return observer.look(table(7, 1000 + ms), true)[0]?.observations;
    };
    expect(observationsAfter(observationsMsMax)).toEqual({ count: 1, sinceMs: wallMs + 1000 });
    expect(observationsAfter(observationsMsMax + 1)).toBeUndefined();
  });

  test('[points §6.1] a recorder that follows another one counts no observation again', () => {
    const runs = createRuns(1);
    const seen = (count: number, lastMs: number): typeof runs => {
      [runs.observations[0], runs.runs[0], runs.first[0], runs.beforeMs[0], runs.lastMs[0]] = [
        count,
        1,
        1,
        Number.NaN,
        lastMs,
      ];
      return structuredClone(runs);
    };
    const countsOf = (earlier: Earlier): unknown[] => {
      const observer = createBareObserver(points, earlier);
      return [
        observer.look(table(7, 10_100, 10_000), seen(100, 10_000), true),
        observer.look(table(7, 13_000), seen(103, 13_000), true),
        observer.look(table(7, 14_000), seen(104, 14_000), true),
      ].map((rows) => rows.map(({ observations }) => observations?.count ?? 'one'));
    };
    // All hundred are stored: the next row represents three.
    expect(countsOf(seen(100, 10_000))).toEqual([[], [3], [1]]);
    // How many there were is unknown: the newest is recorded, and counts as one.
    expect(countsOf('unknown')).toEqual([['one'], [3], [1]]);
  });

  test('a change of quality alone is recorded, and uncertain stays uncertain', () => {
    const observer = createObserver(points);
    observer.look(table(7, 1000), false);
    expect(shown(observer.look(table(7, 1100, 1100, quality.uncertain), false))).toEqual([
      [1100, 7, quality.uncertain],
    ]);
  });

  test.each([
    ['bad', quality.bad],
    ['missing', quality.missing],
  ] as const)('[points §6.1] a point that becomes %s is one row without a value, never 0', (_, code) => {
    const observer = createObserver(points);
    observer.look(table(7, 1000), false);
    expect(shown(observer.look(table(null, 1600, 1500, code), false))).toEqual([[1500, null, code]]);
    expect(observer.look(table(null, 2600, 2500, code), true)).toEqual([]);
    expect(shown(observer.look(table(7, 3000), false))).toEqual([[3000, 7, quality.good]]);
  });

  test('a point that was never available does not count as lost', () => {
    expect(createObserver(points).look(table(null, 1000), true)).toEqual([]);
  });

  test('[points §6.1] a reading that grows older than max_age_ms is lost at that age, at its limit not yet', () => {
    const observer = createObserver(points);
    observer.look(table(7, 1000), false);
    expect(observer.look(table(7, 6000, 1000), true)).toEqual([]);
    expect(shown(observer.look(table(7, 9000, 1000), true))).toEqual([[6000, null, quality.missing]]);
  });

  test('[points §6.1] when the device layer restarts, values are lost now, not when they were read', () => {
    const observer = createObserver(points);
    observer.look(table(7, 1000), false);
    const restarted = table(null, 3000, 900);
    restarted.generation = 2;
    expect(shown(observer.look(restarted, false))).toEqual([[3000, null, quality.missing]]);
  });

  test('a wall clock that was set keeps event and ingestion time apart by the age of the reading', () => {
    const observer = createObserver(points);
    const snapshot = table(7, 5000, 4000);
    snapshot.wallMs += 3_600_000;
    const [row] = observer.look(snapshot, false);
    expect((row?.ingestedMs ?? 0) - (row?.eventMs ?? 0)).toBe(1000);
  });
});
