/**
 * Weights with which a least-squares fit comes close to one of least absolute errors (a step of iteratively reweighted least squares,
 * Holland and Welsch 1977): a row that a first fit missed by more than usual counts for less, in proportion.
 */
import type { TrainingPlan } from './learning.ts';
import { slotsOf } from './normal-equations.ts';
import { median } from './statistics.ts';

/** Errors are compared with those of the same hour and of the hours beside it: at night a plant's are small. */
const hoursOfDay = 24;

/** The plan's weights, less where `outOfFold` of the first fit is far off; unchanged in hours that are mostly met exactly. */
export function robustWeights(plan: TrainingPlan, outOfFold: Float64Array, hours: Float64Array): Float64Array {
  const slots = slotsOf(hours, hoursOfDay);
  const misses = plan.target.map((target, row) => Math.abs(target - (outOfFold[row] as number)));
  const bySlot = Array.from({ length: hoursOfDay }, (): number[] => []);
  for (const row of plan.rows) {
    const slot = slots[row] as number;
    for (const near of [slot + hoursOfDay - 1, slot, slot + 1]) bySlot[near % hoursOfDay]?.push(misses[row] as number);
  }
  const usual = bySlot.map(median);
  const weights = plan.weight.slice();
  for (const row of plan.rows) {
    const scale = usual[slots[row] as number] as number;
    const miss = misses[row] as number;
    if (scale > 0 && miss > scale) weights[row] = ((weights[row] as number) * scale) / miss;
  }
  return weights;
}
