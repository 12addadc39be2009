/**
 * One backtest, in the thread that carries it out: reads recorded values and runs, and lets the rules go over them
 * [rules §10]. Everything that it needs comes with the job; everything that it answers is plain data.
 */
import type { EngineRule } from '../automation/engine-contract.ts';
import { ruleLoader } from '../automation/loaded-rule.ts';
import { runsBetween } from '../automation/runs-between.ts';
import { createRunReader } from '../automation/store/run-store.ts';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { Fault } from '../base/fault.ts';
import type { HistoryLimits } from '../historian/limits.ts';
import { openHistorian } from '../historian/open-historian.ts';
import type { RecordedRun } from '../rules/backtest/agreement.ts';
import { Backtest, type BacktestResult } from '../rules/backtest/backtest.ts';
import type { PlantAssumption } from '../rules/backtest/plant-run.ts';
import { replay } from '../rules/backtest/replay.ts';
import type { RunnableRule } from '../rules/backtest/simulation.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import type { Parameter, SiteCatalogue } from '../site/catalogue.ts';
import type { Site } from '../site/site.ts';
import { siteCatalogue } from '../site/site-catalogue.ts';
import type { DatabasePlace } from '../storage/database.ts';
import type { BacktestLimits } from './limits.ts';
import { eachMoment } from './recorded-values.ts';

export interface BacktestJob {
  readonly mode: 'recorded' | 'replay' | 'plant';
  /** For the mode `plant`; null for the others. */
  readonly plant: PlantAssumption | null;
  readonly site: Site;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly candidate: EngineRule;
  /** The rule as it is stored; null where the candidate is that. */
  readonly running: EngineRule | null;
  /** The rule that the candidate is compared with beside the running one. */
  readonly baseline: EngineRule | null;
  /** Revisions whose runs count as those of the running rule. */
  readonly revisions: readonly number[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly pointsMax: number;
  readonly limits: BacktestLimits & { readonly tick_interval_ms: number; readonly event_min_interval_ms: number };
  readonly historyLimits: HistoryLimits;
  readonly history: DatabasePlace;
  readonly runtime: DatabasePlace;
}

/** `progress` takes how far it has come, from 0 to 1, at most a hundred times. */
export async function runBacktest(job: BacktestJob, progress?: (share: number) => void): Promise<BacktestResult> {
  const catalogue = siteCatalogue({ ...job.site, parameters: job.parameters });
  const { load } = ruleLoader(job.limits);
  const runnable = (row: EngineRule): RunnableRule => {
    const { scheduled, compiled, failure } = load(row, catalogue);
    if (compiled === null)
      throw new Fault('no-runnable-flow', 'the rule has no flow that can run', { details: { code: failure } });
    return { scheduled, compiled };
  };
  const candidate = runnable(job.candidate);
  const storedRule = job.running === null ? candidate : runnableOrNull(job.running, runnable);
  const baseline = job.baseline === null ? null : runnable(job.baseline);
  const { recorded, areMore } = storedRule === null ? { recorded: [], areMore: false } : await recordedRuns(job);
  const noted = (result: BacktestResult): BacktestResult =>
    areMore ? { ...result, notes: [...result.notes, 'newest-recorded-runs'].toSorted() } : result;
  if (job.mode === 'replay') {
    const { differences_max: differencesMax } = job.limits;
    const running = storedRule ?? candidate;
    return noted(replay({ candidate, running, recorded, catalogue, differencesMax, pointsMax: job.pointsMax }));
  }
  const result = await overValues(
    job,
    catalogue,
    {
      candidate,
      running: storedRule,
      baseline: baseline ?? (storedRule === candidate ? null : storedRule),
      recorded: recorded.filter(({ trigger }) => trigger.type !== 'manual'),
    },
    progress,
  );
  return noted(result);
}

/** A stored rule that cannot run is nothing to compare with. */
function runnableOrNull(row: EngineRule, runnable: (row: EngineRule) => RunnableRule): RunnableRule | null {
  try {
    return runnable(row);
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

async function overValues(
  job: BacktestJob,
  catalogue: SiteCatalogue,
  rules: Pick<ConstructorParameters<typeof Backtest>[0], 'candidate' | 'running' | 'baseline' | 'recorded'>,
  progress: ((share: number) => void) | undefined,
): Promise<BacktestResult> {
  const { fromMs, toMs, limits, pointsMax, site, plant } = job;
  const { recordIntervalMs } = site.history;
  const backtest = new Backtest({ ...rules, catalogue, limits, recordIntervalMs, fromMs, toMs, pointsMax, plant });
  const tooMany = (): Fault => {
    const most = limits.evaluations_max;
    return new Fault('too-many-evaluations', `the rule would be evaluated more than ${most} times`, {
      details: { evaluations_max: most },
    });
  };
  const percentMs = (toMs - fromMs) / 100;
  let nextMs = fromMs + percentMs;
  const report = (atMs: number): void => {
    if (atMs < nextMs) return;
    const percent = Math.floor((atMs - fromMs) / percentMs);
    nextMs = fromMs + (percent + 1) * percentMs;
    progress?.(percent / 100);
  };
  const historian = openHistorian(job.history, job.historyLimits, {});
  try {
    const points = backtest.points().flatMap((index) => catalogue.points[index] ?? []);
    const isDone = await eachMoment(historian, points, { fromMs, toMs, recordIntervalMs }, (atMs, values) => {
      report(atMs);
      return backtest.take(atMs, values);
    });
    if (!isDone) throw tooMany();
  } finally {
    await historian.close();
  }
  if (!backtest.runUntil(toMs)) throw tooMany();
  return backtest.end();
}

type StoredRun = RecordedRun & Pick<ExecutionRecord, 'trigger'>;

/** The newest runs of the window under one of the revisions, by time, and whether there are more. */
async function recordedRuns({ limits, fromMs, toMs, candidate, revisions, runtime: place }: BacktestJob) {
  const runtime = openRuntimeDatabase(place);
  try {
    const runs: StoredRun[] = [];
    const most = limits.recorded_runs_max;
    for await (const page of runsBetween(createRunReader(runtime), candidate.id, fromMs, toMs)) {
      const wanted = page.filter(({ rule_revision: revision }) => revisions.includes(revision));
      runs.push(...wanted.map(comparedPart));
      if (runs.length > most) break;
    }
    return { recorded: runs.slice(0, most).reverse(), areMore: runs.length > most };
  } finally {
    await runtime.close();
  }
}

/** Records are large, and there may be many. */
function comparedPart(record: ExecutionRecord): StoredRun {
  const { started_at, outcome, execution_path, actions_executed, variable_values, trigger } = record;
  return { started_at, outcome, execution_path, actions_executed, variable_values, trigger };
}
