/**
 * Future covariates [data-processing §4.8]: per dataset one run for all its features, or the
 * declared fallback of the binding, or a reason for the refusal.
 */
import { formatTimestamp } from '../../base/timestamp.ts';
import type { WindowAnswer } from '../../historian/historian.ts';
import type { BoundInput, RunSource } from '../commission/commissioned.ts';
import { type CovariateAdapter, covariateUnavailable } from '../source/covariate-file.ts';
import type { CovariateRun } from '../source/covariate-run.ts';
import { type RunChoice, selectRun } from '../source/select-run.ts';
import { type Cells, emptyCells, mark, setCell } from './cells.ts';
import { type Feature, featureReason, wholeGrid } from './feature.ts';
import { labelMs } from './grid.ts';
import type { FramePlan } from './plan.ts';
import { persistedDay } from './recorded.ts';

type RunInput = BoundInput<RunSource>;

export async function readCovariates(
  plan: FramePlan,
  adapter: CovariateAdapter,
  lastDay: ReadonlyMap<string, WindowAnswer>,
  signal: AbortSignal,
): Promise<readonly Feature[]> {
  const inputs = plan.route.future.flatMap(({ input, source }) => (source.kind === 'runs' ? [{ input, source }] : []));
  const features: Feature[] = [];
  for (const [dataset, group] of Map.groupBy(inputs, ({ source }) => source.dataset)) {
    const [first] = group;
    if (first === undefined) continue;
    const runs = await adapter.read(first.source, signal);
    checkUnits(runs, group, dataset);
    const fields = group.map(({ source }) => source.field);
    const choice = selectRun(runs, fields, plan.future, plan.asOfMs);
    features.push(...group.map((bound) => featureOf(plan, bound, choice, lastDay)));
  }
  return features;
}

/** A run in another unit is a broken source: values are not converted at request time [data-processing §1.1]. */
function checkUnits(runs: readonly CovariateRun[], group: readonly RunInput[], dataset: string): void {
  for (const { source } of group)
    for (const [index, run] of runs.entries()) {
      const unit = run.fields.get(source.field)?.unit;
      if (unit !== undefined && unit !== source.unit)
        throw covariateUnavailable(dataset, `/runs/${index}/fields/${source.field}/unit: is not ${source.unit}`);
    }
}

function featureOf(
  plan: FramePlan,
  { input, source }: RunInput,
  choice: RunChoice,
  lastDay: ReadonlyMap<string, WindowAnswer>,
): Feature {
  if (choice.kind === 'run') return fromRun(plan, { input, source }, choice);
  const persisted = lastDay.get(input.name);
  if (source.fallback === 'persistence_day' && persisted !== undefined)
    return persistedDay(plan, input, source, persisted);
  const place = { segment: 'future_covariates', input, grid: plan.future } as const;
  const late = choice.late === null ? null : formatTimestamp(choice.late.watermarkMs);
  return {
    ...place,
    cells: emptyCells(plan.future.steps),
    sourceKind: 'covariate',
    sourceRef: source.sourceRef,
    watermarkMs: null,
    issuedMs: null,
    reasons: [
      featureReason(place, 'covariate_unavailable', null, null, wholeGrid(plan.future)),
      ...(late === null ? [] : [featureReason(place, 'issue_time', late, formatTimestamp(plan.asOfMs))]),
    ],
  };
}

function fromRun(plan: FramePlan, { input, source }: RunInput, { run, newest }: RunChoice & { kind: 'run' }): Feature {
  const place = { segment: 'future_covariates', input, grid: plan.future } as const;
  // The binding declares an older run as a fallback: its values are labelled as such.
  const degraded = source.fallback === 'previous_run' && !newest;
  const ageSeconds = (plan.asOfMs - run.issuedMs) / 1000;
  const { max_issue_age_seconds: ageMax } = plan.route.task.quality;
  return {
    ...place,
    cells: cellsOf(plan, run, source.field, degraded),
    sourceKind: 'covariate',
    sourceRef: source.sourceRef,
    watermarkMs: run.watermarkMs,
    issuedMs: run.issuedMs,
    reasons:
      ageMax !== null && ageSeconds > ageMax ? [featureReason(place, 'max_issue_age_seconds', ageSeconds, ageMax)] : [],
  };
}

function cellsOf(plan: FramePlan, run: CovariateRun, fieldName: string, degraded: boolean): Cells {
  const field = run.fields.get(fieldName);
  if (field === undefined) throw new Error(`the chosen run has no field ${fieldName}`);
  const cells = emptyCells(plan.future.steps);
  for (let index = 0; index < plan.future.steps; index++) {
    const position = run.positions.get(labelMs(plan.future, index));
    if (position === undefined) throw new Error('the chosen run does not cover the grid');
    cells.values[index] = field.cells.values[position] ?? Number.NaN;
    cells.marks[index] = field.cells.marks[position] ?? mark.missing;
    if (degraded) setCell(cells, index, cells.values[index] ?? Number.NaN, mark.substituted);
  }
  return cells;
}
