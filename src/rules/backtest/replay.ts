/**
 * A rule on the inputs of its recorded runs [rules §10.4]: one evaluation per run, at the run's own time. A value that a run did
 * not read is unknown, and counts as missing.
 */
import { timeLabel } from '../../base/timestamp.ts';
import type { SiteCatalogue } from '../../site/catalogue.ts';
import { quality } from '../../site/quality.ts';
import { createSnapshot } from '../../site/snapshot.ts';
import { createArbiter } from '../arbiter.ts';
import { createPlan } from '../evaluate.ts';
import { runRule } from '../executor.ts';
import { trailOf } from '../run-record.ts';
import { createRuleState } from '../state.ts';
import { AgreementCheck, type RecordedRun } from './agreement.ts';
import { type BacktestResult, functionsWithMemory } from './backtest.ts';
import { pointName } from './coverage.ts';
import { Divergence } from './divergence.ts';
import { RunTotals } from './report.ts';
import { accepting, type RunnableRule, type SimulationParts, usedPoints } from './simulation.ts';

export interface ReplayParts {
  readonly candidate: RunnableRule;
  /** The rule whose runs were recorded: it maps recorded names to points. */
  readonly running: RunnableRule;
  readonly recorded: readonly RecordedRun[];
  readonly catalogue: SiteCatalogue;
  readonly differencesMax: number;
  readonly pointsMax: number;
}

export function replay(parts: ReplayParts): BacktestResult {
  const { candidate, running, recorded, catalogue, differencesMax, pointsMax } = parts;
  const report = new RunTotals(candidate.compiled);
  const divergence = candidate === running ? null : new Divergence();
  const missing = runOver(candidate, parts, (atMs, run, plan) => {
    report.add(atMs, run, plan);
    divergence?.note('candidate', atMs, trailOf(candidate.compiled, plan).path, run);
  });
  // Runs and evaluations match one to one: any distance is too large.
  const check = new AgreementCheck(running.compiled, recorded, 0, differencesMax);
  runOver(running, parts, (atMs, run, plan) => {
    check.add(atMs, check.taken(atMs, run, plan), plan);
    divergence?.note('baseline', atMs, trailOf(running.compiled, plan).path, run);
  });
  const { isThinned, ...totals } = report.totals(pointsMax);
  const functions = functionsWithMemory(candidate.compiled);
  const notes = [
    ...(isThinned ? ['thinned'] : []),
    ...(missing > 0 ? ['inputs-not-recorded'] : []),
    ...(functions.length > 0 ? ['memory-starts-empty'] : []),
    ...(recorded.length === 0 ? ['no-recorded-runs'] : []),
    'parameters-as-now',
  ];
  const share = recorded.length === 0 ? 0 : 1 - missing / recorded.length;
  return {
    evaluations: recorded.length,
    ...totals,
    agreement: recorded.length === 0 ? null : check.end(),
    first_divergence: divergence?.end() ?? null,
    warm_up: {
      until: functions.length > 0 && recorded[0] !== undefined ? timeLabel(Date.parse(recorded[0].started_at)) : null,
      functions,
    },
    coverage: [...usedPoints(candidate)].map((index) => ({
      point: pointName(catalogue, index),
      ratio: share,
      gaps: missing,
    })),
    notes: notes.toSorted(),
    plant: null,
  };
}

/** Evaluates the rule once per recorded run; returns the number of runs with an input that was not recorded. */
function runOver(rule: RunnableRule, parts: ReplayParts, onRun: SimulationParts['onRun']): number {
  const { catalogue, recorded, running } = parts;
  const snapshot = createSnapshot(catalogue.points.length);
  const state = createRuleState(rule.compiled);
  const arbiter = createArbiter();
  const plan = createPlan();
  const wanted = new Set(rule.compiled.readPoints.map(({ pointIndex }) => pointIndex));
  let incomplete = 0;
  for (const { started_at: at, variable_values: values } of recorded) {
    const atMs = Date.parse(at);
    snapshot.monotonicMs = atMs;
    snapshot.wallMs = atMs;
    snapshot.quality.fill(quality.bad);
    for (const { name, pointIndex } of running.compiled.readPoints) {
      const value = values[name];
      if (value === undefined || value === null) continue;
      snapshot.values[pointIndex] = value;
      snapshot.quality[pointIndex] = quality.good;
      snapshot.observedMs[pointIndex] = atMs;
    }
    if ([...wanted].some((index) => snapshot.quality[index] === quality.bad)) incomplete++;
    arbiter.beginCycle(snapshot);
    onRun(atMs, runRule(rule.compiled, snapshot, state, arbiter, accepting, plan), plan);
  }
  return incomplete;
}
