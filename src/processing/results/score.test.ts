/** [data-processing §8] scores, recounted here in another way. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ScoreGroup } from '../../api/processing-results.ts';
import { atOnce } from '../../base/turns.ts';
import { ScoreBoard, type ScoredResult, type ScoreQuestion } from './score.ts';

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 2, 28);
const probabilities = [0.1, 0.25, 0.5, 0.75, 0.9];

const question: ScoreQuestion = {
  by: 'none',
  fromMs: startMs,
  toMs: startMs + 30 * 24 * hourMs,
  cadenceMs: hourMs,
  timeZone: 'Europe/Amsterdam',
  actualAt: (ms) => Math.sin(ms / hourMs) * 10,
};

function scoresOf(results: readonly ScoredResult[], more: Partial<ScoreQuestion> = {}): readonly ScoreGroup[] {
  const board = new ScoreBoard({ ...question, ...more });
  for (const result of results) board.add(result);
  return atOnce(board.groups());
}

const row = (length: number) =>
  fc.array(fc.double({ min: -20, max: 20, noNaN: true }), { minLength: length, maxLength: length });

const result: fc.Arbitrary<ScoredResult> = fc
  .record({
    status: fc.constantFrom('produced', 'produced', 'fallback', 'unavailable'),
    hour: fc.integer({ min: -10, max: 100 }),
    steps: fc.integer({ min: 1, max: 30 }),
    late: fc.integer({ min: 0, max: 5 }),
    seedRows: fc.array(row(30), { minLength: 9, maxLength: 9 }),
  })
  .map(({ status, hour, steps, late, seedRows }) => {
    const rows = seedRows.map((values) => Float64Array.from(values.slice(0, steps)));
    const quantiles = probabilities.map((_, index) =>
      Float64Array.from(
        { length: steps },
        (_unused, step) =>
          rows
            .slice(1, 6)
            .map((own) => own[step] ?? 0)
            .sort((a, b) => a - b)
            .at(index) ?? 0,
      ),
    );
    const firstMs = startMs + hour * hourMs;
    return {
      status,
      firstMs,
      keptMs: firstMs - hourMs + late * hourMs,
      steps,
      probabilities,
      numbers:
        status === 'unavailable'
          ? null
          : { value: rows[0] ?? new Float64Array(steps), quantiles, references: rows.slice(6, 9) },
    };
  });

interface Point {
  readonly ms: number;
  readonly lead: number;
  readonly value: number;
  readonly actual: number;
  readonly quantiles: readonly number[];
  readonly references: readonly number[];
}

/** Every point that counts, as a plain list. */
function pointsOf(results: readonly ScoredResult[]): Point[] {
  const points: Point[] = [];
  for (const { status, numbers, firstMs, keptMs, steps } of results)
    for (let step = 0; step < steps; step++) {
      const ms = firstMs + step * hourMs;
      if (status !== 'produced' || numbers === null || ms <= keptMs || ms < question.fromMs || ms >= question.toMs)
        continue;
      points.push({
        ms,
        lead: (step + 1) * 3600,
        value: numbers.value[step] ?? 0,
        actual: question.actualAt(ms),
        quantiles: numbers.quantiles.map((own) => own[step] ?? 0),
        references: numbers.references.map((own) => own[step] ?? 0),
      });
    }
  return points;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('scores', () => {
  test('are those of the points, counted one by one', () => {
    fc.assert(
      fc.property(fc.array(result, { minLength: 1, maxLength: 8 }), (results) => {
        const points = pointsOf(results);
        const [group] = scoresOf(results);
        if (points.length === 0) return;
        const errors = points.map(({ value, actual }) => value - actual);
        const size = errors.map(Math.abs);
        expect(group?.n).toBe(points.length);
        expect(group?.mae).toBeCloseTo(mean(size), 9);
        expect(group?.bias).toBeCloseTo(mean(errors), 9);
        expect(group?.rmse).toBeCloseTo(Math.sqrt(mean(errors.map((error) => error ** 2))), 9);
        const losses = points.flatMap(({ quantiles, actual }) =>
          quantiles.map((quantile, index) => {
            const probability = probabilities[index] ?? 0;
            return Math.max(probability * (actual - quantile), (probability - 1) * (actual - quantile));
          }),
        );
        expect(group?.pinball).toBeCloseTo(mean(losses), 9);
        const inside = (low: number, high: number): number =>
          mean(
            points.map(({ quantiles, actual }) =>
              actual >= (quantiles[low] ?? 0) && actual <= (quantiles[high] ?? 0) ? 1 : 0,
            ),
          );
        expect(Object.keys(group?.coverage ?? {})).toEqual(['0.1-0.9', '0.25-0.75']);
        expect(group?.coverage['0.1-0.9']).toBeCloseTo(inside(0, 4), 9);
        expect(group?.coverage['0.25-0.75']).toBeCloseTo(inside(1, 3), 9);
        const reference = mean(points.map(({ references, actual }) => Math.abs((references[1] ?? 0) - actual)));
        expect(group?.skill.same_time_yesterday).toBeCloseTo(1 - mean(size) / reference, 9);
        expect(mean(group?.pit ?? [])).toBeCloseTo(0.1, 9);
      }),
    );
  });

  test('by lead, hour and day are those of their points', () => {
    fc.assert(
      fc.property(fc.array(result, { minLength: 1, maxLength: 5 }), (results) => {
        const points = pointsOf(results);
        const local = (ms: number): string =>
          new Date(ms - hourMs / 2).toLocaleString('sv-SE', { timeZone: 'Europe/Amsterdam' });
        const keys = {
          lead: ({ lead }: Point) => lead,
          hour: ({ ms }: Point) => Number(local(ms).slice(11, 13)),
          day: ({ ms }: Point) => local(ms).slice(0, 10),
        };
        for (const by of ['lead', 'hour', 'day'] as const) {
          const expected = Map.groupBy(points, (point): string | number => keys[by](point));
          const scored = scoresOf(results, { by }).filter(({ n }) => n > 0);
          expect(new Map(scored.map(({ key, n }) => [key, n]))).toEqual(
            new Map([...expected].map(([key, own]) => [key, own.length])),
          );
        }
      }),
    );
  });

  test('local hours and days are those of each label, over clock changes and long horizons', () => {
    const zones = ['Europe/Amsterdam', 'Australia/Lord_Howe', 'America/St_Johns', 'Asia/Kathmandu'];
    // The clocks of one of them change on the next day.
    const starts = ['2026-03-07', '2026-03-28', '2026-04-04', '2026-10-03', '2026-10-24', '2026-10-31'];
    for (const timeZone of zones) {
      const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
      for (const cadenceMs of [600_000, 900_000, hourMs, 12 * hourMs, 24 * hourMs])
        for (const start of starts) {
          const firstMs = Date.parse(start);
          // Wide steps span the change and the change back.
          const steps = cadenceMs > hourMs ? 500 : Math.ceil((3 * 24 * hourMs) / cadenceMs);
          const ones = new Float64Array(steps).fill(1);
          const whole: ScoredResult = {
            status: 'produced',
            firstMs,
            keptMs: 0,
            steps,
            probabilities: [],
            numbers: { value: ones, quantiles: [], references: [] },
          };
          const more = { timeZone, cadenceMs, fromMs: 0, toMs: Date.UTC(2030, 0, 1), actualAt: () => 1 };
          const labels = Array.from({ length: steps }, (_, step) => format.format(firstMs + (step - 0.5) * cadenceMs));
          for (const by of ['hour', 'day'] as const) {
            const expected = Map.groupBy(labels, (label): string | number =>
              by === 'hour' ? Number(label.slice(11, 13)) : label.slice(0, 10),
            );
            expect(new Map(scoresOf([whole], { ...more, by }).map(({ key, n }) => [key, n]))).toEqual(
              new Map([...expected].map(([key, own]) => [key, own.length])),
            );
          }
        }
    }
  });

  const steady = (more: Partial<ScoredResult> = {}): ScoredResult => ({
    status: 'produced',
    firstMs: startMs,
    keptMs: startMs - hourMs,
    steps: 2,
    probabilities: [0.1, 0.9],
    numbers: {
      value: Float64Array.of(1, 1),
      quantiles: [Float64Array.of(0, 0), Float64Array.of(2, 2)],
      references: [Float64Array.of(3, Number.NaN), Float64Array.of(Number.NaN, Number.NaN), Float64Array.of(1, 1)],
    },
    ...more,
  });

  test('a fallback is never counted as the model, and nothing unavailable has points', () => {
    const [group] = scoresOf([steady({ status: 'fallback' }), steady({ status: 'unavailable', numbers: null })]);
    expect(group).toMatchObject({
      n: 0,
      produced: 0,
      fallback: 1,
      unavailable: 1,
      mae: null,
      pinball: null,
      pit: null,
    });
  });

  test('a point whose target had passed when the result was kept does not count; one a millisecond later does', () => {
    expect(scoresOf([steady({ keptMs: startMs })])[0]?.n).toBe(1);
    expect(scoresOf([steady({ keptMs: startMs - 1 })])[0]?.n).toBe(2);
  });

  test('targets are bounded: from is in, to is not', () => {
    expect(scoresOf([steady()], { fromMs: startMs, toMs: startMs + hourMs })[0]?.n).toBe(1);
    expect(scoresOf([steady()], { fromMs: startMs + 1, toMs: startMs + hourMs })).toEqual([]);
  });

  test('targets without a recorded value are not scored', () => {
    expect(scoresOf([steady()], { actualAt: () => Number.NaN })[0]).toMatchObject({
      n: 0,
      produced: 1,
      interval: null,
    });
  });

  test('skill: over the points that the reference has; null without one, or where the reference is exact', () => {
    const [group] = scoresOf([steady()], { actualAt: () => 1.5 });
    expect(group?.skill).toEqual({ persistence: 1 - 0.5 / 1.5, same_time_yesterday: null, same_time_last_week: 0 });
    expect(scoresOf([steady()], { actualAt: () => 1 })[0]?.skill.same_time_last_week).toBeNull();
  });

  test('coverage: the widest band is first, independent of the order in the forecasts', () => {
    const [narrow, wide] = [
      [0.4, 0.6],
      [0.05, 0.95],
    ].map((own) => steady({ probabilities: own }));
    const [group] = scoresOf([narrow, steady({ probabilities: [0.25, 0.75] }), wide].flatMap((each) => each ?? []));
    expect(Object.keys(group?.coverage ?? {})).toEqual(['0.05-0.95', '0.25-0.75', '0.4-0.6']);
  });

  test('PIT: a point is spread over the probabilities between its quantiles', () => {
    const pitAt = (actual: number): readonly number[] | null | undefined =>
      scoresOf([steady({ steps: 1 })], { actualAt: () => actual })[0]?.pit;
    expect(pitAt(-1)).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(pitAt(9)?.[9]).toBeCloseTo(1, 9);
    const inside = pitAt(1) ?? [];
    for (const share of [1, 2, 3, 4, 5, 6, 7, 8]) expect(inside[share]).toBeCloseTo(1 / 8, 9);
    // On a quantile itself: below and above it.
    const onto = pitAt(2) ?? [];
    expect([onto[1], onto[9]]).toEqual([expect.closeTo(1 / 9, 9), expect.closeTo(1 / 9, 9)]);
  });

  test('the interval of the mean error: reproducible, null for a single day, wider for days that differ', () => {
    const days = (error: (day: number) => number): ScoreGroup['interval'] | undefined =>
      scoresOf(
        Array.from({ length: 20 }, (_, day) => steady({ firstMs: startMs + day * 24 * hourMs, keptMs: 0 })),
        { actualAt: (ms) => 1 + error(Math.floor((ms - startMs) / (24 * hourMs))) },
      )[0]?.interval;
    expect(days(() => 2)).toEqual({ low: 2, high: 2 });
    const wide = days((day) => (day % 2) * 2);
    expect(wide).toEqual(days((day) => (day % 2) * 2));
    expect(wide?.low).toBeGreaterThan(0.5);
    expect(wide?.low).toBeLessThan(1);
    expect(wide?.high).toBeGreaterThan(1);
    expect(scoresOf([steady()])[0]?.interval).toBeNull();
  });
});
