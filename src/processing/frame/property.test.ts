/**
 * Random tasks and raw histories (irregular, duplicate, gapped, out of order, NULL, from clocks that run ahead, on days of
 * 23 and 25 hours) through the real store and the real assembly, against an assembly done by hand.
 */
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createLog } from '../../base/log.ts';
import type { TaskInput } from '../../contract/task/declaration.ts';
import { quality } from '../../site/quality.ts';
import { historyEngines, type TestHistory, testHistory } from '../../testing/histories.ts';
import { loadRoute } from '../../testing/load-site.ts';
import {
  assembleNaively,
  type NaiveCase,
  type NaiveFeature,
  type NaiveRow,
  type NaiveRun,
} from '../../testing/naive-assembly.ts';
import type { BoundInput, CommissionedRoute, RecordedSource } from '../commission/commissioned.ts';
import { parseCovariateRuns } from '../source/covariate-run.ts';
import { embeddedHistory } from '../source/embedded-history.ts';
import { noLiveState } from '../source/live-state.ts';
import { assembleFrame } from './assemble.ts';
import { planFrame } from './plan.ts';

let store: TestHistory;

const cadences = fc.constantFrom(300, 700, 900, 3600);
/** Days on which Amsterdam has 23 and 25 hours, and an ordinary one. */
const days = fc.constantFrom('2026-03-29T12:00:00Z', '2026-10-25T12:00:00Z', '2026-07-11T12:00:00Z');
/** Quarters add up exactly in any order. */
const values = fc.integer({ min: -40, max: 40 }).map((quarters) => quarters / 4);

/** A single row from a clock that runs ahead refuses a short window, so most histories have none. */
const lateness = fc.constantFrom(
  [0],
  [0],
  [0, 30_000],
  [0, 30_000],
  [0, 0, 0, -5000],
  [0, 0, 0, 0, 0, 0, 0, 0, 0, -5000, -5001, -60_000],
);

const rowsIn = (fromMs: number, toMs: number): fc.Arbitrary<NaiveRow[]> =>
  lateness.chain((late) =>
    fc
      .array(
        fc.record({
          // Few instants, so that duplicates and rows exactly on a label are common.
          at: fc.oneof(
            fc.integer({ min: 0, max: 60 }).map((part) => fromMs + Math.round(((toMs - fromMs) * part) / 60)),
            fc.integer({ min: fromMs, max: toMs }),
          ),
          lateMs: fc.constantFrom(...late),
          value: fc.option(values, { freq: 8 }),
          uncertain: fc.boolean(),
        }),
        { maxLength: 120 },
      )
      .map((rows) =>
        rows.map(({ at, lateMs, value, uncertain }) => ({ eventMs: at, ingestedMs: at + lateMs, value, uncertain })),
      ),
  );

const featureIn = (name: string, fromMs: number, toMs: number): fc.Arbitrary<NaiveFeature> =>
  fc.record({
    name: fc.constant(name),
    unit: fc.constant('kW'),
    aggregation: fc.constantFrom('mean', 'sum', 'min', 'max', 'last'),
    duplicates: fc.oneof({ weight: 5, arbitrary: fc.constant('latest' as const) }, fc.constant('reject' as const)),
    minimum: fc.constantFrom(-8, -1000),
    maximum: fc.constantFrom(9, 1000),
    outOfRange: fc.oneof({ weight: 5, arbitrary: fc.constant('missing' as const) }, fc.constant('reject' as const)),
    rows: rowsIn(fromMs, toMs),
  });

const runsIn = (asOfMs: number, cadenceMs: number, horizon: number): fc.Arbitrary<NaiveRun[]> =>
  fc
    .array(
      fc.record({
        issued: fc.integer({ min: -1, max: 8 }),
        held: fc.integer({ min: 0, max: 2 }),
        length: fc.constantFrom(Math.max(1, horizon - 1), horizon, horizon + 1, horizon + 2),
        cells: fc.array(fc.option(values, { freq: 9 }), { minLength: horizon + 2, maxLength: horizon + 2 }),
      }),
      { maxLength: 5 },
    )
    .map((runs) =>
      runs.map(({ issued, held, length, cells }) => {
        const issuedMs = asOfMs - issued * 600_000;
        const times = Array.from({ length }, (_, index) => asOfMs + (index + 1) * cadenceMs);
        const map = new Map(times.map((time, index) => [time, cells[index] ?? null] as const));
        return { issuedMs, watermarkMs: issuedMs + held * 600_000, cells: map };
      }),
    );

const cases: fc.Arbitrary<NaiveCase> = fc
  .record({
    cadence: cadences,
    day: days,
    steps: fc.integer({ min: 1, max: 30 }),
    horizon: fc.integer({ min: 1, max: 6 }),
    back: fc.integer({ min: 0, max: 40 }),
  })
  .chain(({ cadence, day, steps, horizon, back }) => {
    const cadenceMs = cadence * 1000;
    const asOfMs = (Math.floor(Date.parse(day) / cadenceMs) - back) * cadenceMs;
    const fromMs = asOfMs - (steps + 1) * cadenceMs;
    const toMs = asOfMs + cadenceMs;
    return fc.record({
      asOfMs: fc.constant(asOfMs),
      cadenceMs: fc.constant(cadenceMs),
      steps: fc.constant(steps),
      horizon: fc.constant(horizon),
      timezone: fc.constantFrom('UTC', 'Europe/Amsterdam', 'Asia/Kathmandu'),
      skewMs: fc.constant(5000),
      history: fc.tuple(featureIn('load', fromMs, toMs), featureIn('other', fromMs, toMs)),
      run: fc.record({
        name: fc.constant('ahead'),
        unit: fc.constant('Cel'),
        runs: runsIn(asOfMs, cadenceMs, horizon),
      }),
      missing: fc.oneof(
        fc.constantFrom('reject' as const, 'allow' as const, 'allow' as const),
        fc.record({
          method: fc.constantFrom('hold_last' as const, 'linear' as const),
          maxCells: fc.integer({ min: 1, max: 4 }),
        }),
      ),
      limits: fc.record({
        ageSeconds: fc.constantFrom(cadence, 1_000_000, 1_000_000),
        issueAgeSeconds: fc.constantFrom(1200, 1_000_000, 1_000_000),
        gapSeconds: fc.constantFrom(3 * cadence, 1_000_000, 1_000_000),
        missingRatio: fc.constantFrom(0, 0.2, 1, 1),
      }),
    });
  });

let instance = 100;

/** The case as a commissioned route, over series of its own. */
async function routeOf(given: NaiveCase): Promise<CommissionedRoute> {
  const base = loadRoute();
  const { limits } = given;
  const own = instance++;
  const input = (name: string, unit: string, more: Partial<TaskInput> = {}): TaskInput => ({
    name,
    value_type: 'number',
    unit,
    source: { kind: 'covariate', dataset_ref: 'runs', field: name },
    range: {},
    out_of_range: 'missing',
    ...more,
  });
  const seriesOf = (index: number) => ({ instance: own, point: index + 1 });
  await store.historian.append(
    given.history.flatMap((feature, index) =>
      feature.rows.map((row) => ({
        series: seriesOf(index),
        eventMs: row.eventMs,
        ingestedMs: row.ingestedMs,
        value: row.value,
        quality: row.value === null ? quality.missing : row.uncertain ? quality.uncertain : quality.good,
      })),
    ),
  );
  const recorded = given.history.map((feature, index): BoundInput<RecordedSource> => {
    const series = seriesOf(index);
    const { minimum, maximum, outOfRange: out_of_range } = feature;
    return {
      input: input(feature.name, feature.unit, { range: { minimum, maximum }, out_of_range }),
      source: {
        kind: 'recorded',
        series,
        pointIndex: index,
        sourceRef: feature.name,
        aggregation: feature.aggregation,
        duplicatePolicy: feature.duplicates,
        factor: 1,
        isCounter: false,
      },
    };
  });
  const calendar = {
    input: input('quarter_hour', '1', { source: { kind: 'calendar', transform: 'quarter_hour_of_day_zero_based' } }),
    source: { kind: 'calendar', transform: 'quarter_hour_of_day_zero_based', sourceRef: 'calendar.quarter_hour' },
  } as const;
  const { name, unit } = given.run;
  const file = { dataset: 'runs', path: '', maxFileBytes: 1, field: name, unit, sourceRef: name } as const;
  const ahead = {
    input: input(name, unit),
    source: { kind: 'runs', ...file, fallback: 'none', recorded: null },
  } as const;
  const history = [...recorded, calendar];
  const future = [ahead, calendar];
  const { missing } = given;
  return {
    ...base,
    history,
    future,
    keepsSourceRefs: false,
    place: { ...base.place, timezone: given.timezone },
    task: {
      ...base.task,
      frame: { ...base.task.frame, cadence_seconds: given.cadenceMs / 1000, history_steps: given.steps },
      inputs: { history: history.map((bound) => bound.input), future_covariates: future.map((bound) => bound.input) },
      alignment: {
        ...base.task.alignment,
        missing_policy: typeof missing === 'string' ? missing : { method: missing.method, max_cells: missing.maxCells },
      },
      quality: {
        ...base.task.quality,
        max_input_age_seconds: limits.ageSeconds,
        max_issue_age_seconds: limits.issueAgeSeconds,
        max_gap_seconds: limits.gapSeconds,
        max_missing_ratio: limits.missingRatio,
      },
    },
  };
}

function runFile(given: NaiveCase): string {
  const time = (ms: number): string => new Date(ms).toISOString();
  const runs = given.run.runs.map((run) => {
    const cells = [...run.cells.values()];
    return {
      issued_at: time(run.issuedMs),
      watermark: time(run.watermarkMs),
      valid_times: [...run.cells.keys()].map(time),
      fields: {
        [given.run.name]: {
          unit: given.run.unit,
          values: cells,
          quality: cells.map((value) => (value === null ? 'missing' : 'good')),
        },
      },
    };
  });
  return JSON.stringify({ schema: 'svc.covariate-runs.v1', runs });
}

test.each(historyEngines)(
  'an assembled frame, or the rules that it breaks, are those of an assembly by hand, on %s',
  async (engine) => {
    store = await testHistory(engine);
    onTestFinished(() => store.remove());
    const log = createLog('silent', {});
    const seen = { frames: 0, refusals: 0 };
    const numRuns = engine === 'sqlite' ? 400 : 200;
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const assembled = await assembleFrame({
          plan: planFrame(
            await routeOf(given),
            given.asOfMs,
            { kind: 'forecast', horizon_steps: given.horizon },
            given.asOfMs,
          ),
          sources: {
            history: embeddedHistory(store.historian),
            covariates: { read: async () => parseCovariateRuns(runFile(given)) },
            live: noLiveState,
          },
          signal: new AbortController().signal,
          log,
        });
        const naive = assembleNaively(given);
        if ('frame' in naive) {
          seen.frames++;
          expect(assembled).toEqual({ ok: true, frame: naive.frame });
          return;
        }
        seen.refusals++;
        const reasons = assembled.ok ? [] : assembled.reasons;
        const told = reasons.map(({ rule, segment, feature, first_label, last_label }) =>
          [rule, segment ?? '-', feature ?? '-', first_label ?? '-', last_label ?? '-'].join(' '),
        );
        expect(told.toSorted()).toEqual([...naive.broken].toSorted());
      }),
      { numRuns },
    );
    // A comparison that saw only frames, or only refusals, would prove little. About every tenth case is a frame.
    expect(Math.min(seen.frames, seen.refusals)).toBeGreaterThan(numRuns / 40);
  },
);
