/**
 * The expected history, from its calendar and covariates alone: no past values, so that a level shift stands out against it
 * instead of being learned within a day.
 */
import { knownDesign } from './design.ts';
import type { Ground } from './ground.ts';
import type { TrainingPlan } from './learning.ts';
import { normalEquationsOf } from './normal-equations.ts';
import { fitRidge } from './ridge.ts';
import { median } from './statistics.ts';

/** Rows of the fit: a sample of the cells is enough for a smooth expectation. */
const rowsMax = 1500;
const penalties = [0.03];

/** One value per history cell, from the rows before cell `until`. */
export function expectationOf(ground: Ground, until: number): Float64Array {
  const { count, target } = ground.sample;
  const design = knownDesign(ground, 0, count);
  const plan = planOf(target, until);
  const model = fitRidge(normalEquationsOf(design.columns, design.hours, plan, 1), { slots: 1, reach: 0, penalties });
  const smooth = model.predict(design.columns, design.hours);
  const corrections = typicalMisses(ground, smooth, until);
  return smooth.map((value, cell) => value + (corrections[slotOf(ground, cell)] as number));
}

function planOf(target: Float64Array, until: number): TrainingPlan {
  const known: number[] = [];
  for (let cell = 0; cell < until; cell++) if (!Number.isNaN(target[cell])) known.push(cell);
  // An odd step covers every time of the day.
  const step = Math.max(1, Math.ceil(known.length / rowsMax)) | 1;
  return {
    rows: Int32Array.from(known.filter((_, index) => index % step === 0)),
    target,
    weight: new Float64Array(target.length).fill(1),
    fold: new Uint8Array(target.length),
    foldCount: 1,
  };
}

/** The median residual at each time of the day, for working days and for days off. */
function typicalMisses(ground: Ground, smooth: Float64Array, until: number): Float64Array {
  const { target } = ground.sample;
  const misses: number[][] = Array.from({ length: 2 * ground.perDay }, () => []);
  for (let cell = 0; cell < until; cell++) {
    const miss = (target[cell] as number) - (smooth[cell] as number);
    if (!Number.isNaN(miss)) misses[slotOf(ground, cell)]?.push(miss);
  }
  return Float64Array.from(misses, (own) => (own.length === 0 ? 0 : median(own)));
}

function slotOf({ perDay, dayClass }: Ground, cell: number): number {
  return (cell % perDay) + (dayClass[cell] === 0 ? 0 : perDay);
}
