/**
 * Alignment of the readings with the task's declaration ([data-processing §4.1] step 7): declared order, ranges of cells, then the
 * missing-data policy. The observed cells are kept beside the filled ones, because a filled cell does not close a gap.
 */

import { inRange } from '../../contract/task/declaration.ts';
import { type Cells, clearCell, copyOf, isMissing, valueAt } from './cells.ts';
import { type Feature, featureReason } from './feature.ts';
import type { FramePlan } from './plan.ts';
import type { SegmentName } from './reason.ts';
import { substitute } from './substitute.ts';

export interface AlignedFeature extends Feature {
  /** Before substitution. */
  readonly observed: Cells;
}

/** All features of the task: history, then future, each in declared order. */
export function align(plan: FramePlan, features: readonly Feature[]): AlignedFeature[] {
  const byName = (segment: SegmentName): Map<string, Feature> =>
    new Map(features.filter((one) => one.segment === segment).map((one) => [one.input.name, one] as const));
  const read = { history: byName('history'), future_covariates: byName('future_covariates') };
  const { inputs } = plan.route.task;
  const ranged = (segment: SegmentName): Feature[] =>
    inputs[segment].map(({ name }) => {
      const feature = read[segment].get(name);
      if (feature === undefined) throw new Error(`${segment} feature ${name} was not read`);
      return withinRange(feature);
    });
  const history = ranged('history');
  const earlier = new Map(history.map((feature) => [feature.input.name, feature.cells] as const));
  return [
    ...history.map((feature) => filled(plan, feature, null)),
    ...ranged('future_covariates').map((feature) => filled(plan, feature, earlier.get(feature.input.name) ?? null)),
  ];
}

/** A cell outside the declared range counts as missing; with `out_of_range: reject` it is a reason too. */
function withinRange(feature: Feature): Feature {
  const { range, out_of_range: outOfRange } = feature.input;
  // An empty range allows every number.
  if (Object.keys(range).length === 0) return feature;
  const outside: number[] = [];
  for (let index = 0; index < feature.cells.values.length; index++)
    if (!isMissing(feature.cells, index) && !inRange(valueAt(feature.cells, index), range)) outside.push(index);
  const [first] = outside;
  const last = outside.at(-1);
  if (first === undefined || last === undefined) return feature;
  const cells = copyOf(feature.cells);
  for (const index of outside) clearCell(cells, index);
  if (outOfRange === 'missing') return { ...feature, cells };
  const observed = feature.cells.values[first] ?? null;
  const reason = featureReason(feature, 'range', observed, null, { first, last });
  return { ...feature, cells, reasons: [...feature.reasons, reason] };
}

function filled(plan: FramePlan, feature: Feature, earlier: Cells | null): AlignedFeature {
  const { missing_policy: policy } = plan.route.task.alignment;
  const observed = feature.cells;
  if (typeof policy === 'string') return { ...feature, observed };
  const { cadenceSeconds } = plan;
  const { range } = feature.input;
  return {
    ...feature,
    observed,
    cells: substitute(observed, { substitution: policy, cadenceSeconds, range, earlier }),
  };
}
