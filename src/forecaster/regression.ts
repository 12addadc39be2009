/**
 * The forecast of a series with a daily season, by regression: ridge models, boosted trees and a forest, each cross-validated over
 * blocks of days and stacked by their out-of-fold predictions, with a predictive distribution from the out-of-fold residuals.
 */
import { type Bands, bandsAt, calibrateBands, neighboursAt } from './bands.ts';
import { binColumn, binColumns } from './binning.ts';
import { type BoostingShape, fitBoosting } from './boosting.ts';
import { type Carry, carryOver, learnCarry } from './carry.ts';
import { type Design, lagDaysMax, linearDesign, lookAheadHours, plainColumns, treeDesign } from './design.ts';
import { type Share, sharesOf } from './explanation.ts';
import { columnShares, type ForestShape, growForest, Neighbourhood, rankingOf } from './forest.ts';
import type { Ground } from './ground.ts';
import type { Columns, TrainingPlan } from './learning.ts';
import { darkCells, lightOf } from './night.ts';
import { equationsAt, type NormalEquations, normalEquationsOf } from './normal-equations.ts';
import { fitRidge, type RidgeShape } from './ridge.ts';
import { robustWeights } from './robust-weights.ts';
import { combine, stackWeights } from './stack.ts';

/** The rows of a forecast, in the form that its candidates use. */
interface Later {
  readonly linear: Design;
  /** The columns of the trees, binned like those of the fit. */
  readonly bins: readonly Uint8Array[];
  /** The forest's median per row. */
  readonly medians: Float64Array;
}

interface Candidate {
  readonly name: string;
  readonly outOfFold: Float64Array;
  predict(later: Later): Float64Array;
}

export interface RegressionFit {
  readonly candidates: readonly Candidate[];
  readonly weights: Float64Array;
  readonly bands: Bands;
  /** Out-of-fold residuals of the medians of the distributions. */
  readonly misses: Float64Array;
  readonly carry: Carry;
  /** Covariates that mark the nights: dark cells are excluded from training, their forecast is zero. */
  readonly light: readonly number[];
  /** The inputs of the forest's columns, each with its share of the explained variation. */
  readonly inputs: readonly Share[];
}

const foldCount = 5;
/** Days per cross-validation block: long enough that neighbouring blocks do not share their weather; fewer for a short history. */
const blockDaysMax = 3;
const blocksWanted = 10;
const penalties = [0.03, 0.3, 2];
/** Slots of the day with coefficients of their own. */
const slotCount = 24;
const boosting: BoostingShape = {
  depthMax: 4,
  leafMin: 20,
  shrinkage: 5,
  columnsPerSplit: 0,
  rounds: 40,
  rate: 0.12,
  rowShare: 0.5,
  columnShare: 0.3,
};
/** Rows of one boosting step: more make it slower, not better. */
const bagRowsMax = 3000;
const forestTrees = 40;
/** Trees for long horizons: such a request may take seconds, and a whole month uses one forest. */
const forestTreesFar = 100;

function planOf(ground: Ground, dark: Uint8Array): { plan: TrainingPlan; block: Int32Array } {
  const { sample, perDay, lagDays } = ground;
  const { count } = sample;
  const days = count / perDay;
  const blockDays = Math.max(1, Math.min(blockDaysMax, Math.floor(days / blocksWanted)));
  // Lags reach back a week: without them the first days would be trained on missing features.
  const skip = lagDays > lagDaysMax ? 0 : (days > 21 + lagDays ? 6 + lagDays : lagDays) * perDay;
  const target = new Float64Array(count).fill(Number.NaN);
  const weight = new Float64Array(count);
  const fold = new Uint8Array(count);
  const block = new Int32Array(count);
  const rows: number[] = [];
  for (let cell = 0; cell < count; cell++) {
    const age = (count - 1 - cell) / perDay;
    weight[cell] = Math.exp(-age / days);
    block[cell] = Math.floor(Math.floor(age) / blockDays);
    fold[cell] = (block[cell] as number) % foldCount;
    if (cell < skip || dark[cell] === 1 || Number.isNaN(sample.target[cell])) continue;
    target[cell] = sample.target[cell] as number;
    rows.push(cell);
  }
  return { plan: { rows: Int32Array.from(rows), target, weight, fold, foldCount }, block };
}

function meanGoal({ rows, target }: TrainingPlan): number {
  let sum = 0;
  for (const row of rows) sum += target[row] as number;
  return sum / rows.length;
}

const ridgeShape: RidgeShape = { slots: slotCount, reach: 2, penalties };

/** Ridges of few columns and of all, with weights from the errors of a first fit. */
function linearCandidates(linear: Design, plan: TrainingPlan): Candidate[] {
  const { columns, hours } = linear;
  const kept = plainColumns(linear);
  const plainOf = (all: Columns): Columns => kept.map((place) => all[place] as Float64Array);
  const first = fitRidge(normalEquationsOf(plainOf(columns), hours, plan, slotCount), ridgeShape);
  const weight = robustWeights(plan, first.outOfFold, hours);
  const equations = normalEquationsOf(columns, hours, plan, slotCount, weight);
  const plain = equationsAt(equations, kept);
  const ridge = (name: string, slots: number, from: NormalEquations, columnsOf = (all: Columns) => all): Candidate => {
    const model = fitRidge(from, { ...ridgeShape, slots });
    const predict = ({ linear: later }: Later) => model.predict(columnsOf(later.columns), later.hours);
    return { name: `${name}-${slots}`, outOfFold: model.outOfFold, predict };
  };
  return [
    ridge('ridge', slotCount, equations),
    ridge('plain-ridge', 1, plain, plainOf),
    ridge('plain-ridge', slotCount, plain, plainOf),
  ];
}

export function fitRegression(ground: Ground): RegressionFit {
  const { count } = ground.sample;
  const far = ground.lagDays > lagDaysMax;
  const light = lightOf(ground);
  const { plan, block } = planOf(ground, darkCells(ground, light));
  const linear = linearDesign(ground, 0, count);
  const trees = treeDesign(ground, light, 0, count);
  const candidates = linearCandidates(linear, plan);
  const middle = meanGoal(plan);
  const binned = binColumns(trees.columns, plan.rows, count);
  const rowShare = Math.min(boosting.rowShare, bagRowsMax / plan.rows.length);
  const boosted = fitBoosting(binned, plan, new Float64Array(count).fill(middle), { ...boosting, rowShare });
  candidates.push({
    name: 'boosting',
    outOfFold: boosted.outOfFold.map((value) => value + middle),
    predict: ({ bins, medians }) => boosted.predict(bins, medians.length).map((value) => value + middle),
  });
  const forestShape: ForestShape = {
    depthMax: 14,
    leafMin: 5,
    shrinkage: 0,
    columnsPerSplit: Math.ceil(trees.columns.length / 3),
    trees: far ? forestTreesFar : forestTrees,
    bagShare: 0.63,
  };
  const forest = growForest(binned, plan, block, forestShape);
  const near = new Neighbourhood(forest);
  const targets = rankingOf(forest, plan.target);
  const outOfBag = new Float64Array(count).fill(Number.NaN);
  for (const row of plan.rows) {
    near.find(binned.bins, row, block[row] as number);
    const median = near.median(targets);
    outOfBag[row] = median === median ? median : middle;
  }
  candidates.push({ name: 'forest', outOfFold: outOfBag, predict: ({ medians }) => medians });
  const predictions = candidates.map((candidate) => candidate.outOfFold);
  const weights = stackWeights(predictions, plan.target, plan.rows);
  const combined = combine(predictions, weights);
  const bands = calibrateBands(forest, targets, combined);
  const misses = plan.target.map((own, row) => own - middleOf(bands, outOfBag[row] as number, combined[row] as number));
  const carry = learnCarry(misses, ground.perDay);
  const inputs = sharesOf(trees.origins, columnShares(forest));
  return { candidates, weights, bands, misses, carry, light, inputs };
}

/** The median of the distribution, approximately. */
function middleOf({ share }: Bands, forest: number, combined: number): number {
  return share * forest + (1 - share) * combined;
}

/** One distribution at the levels for each step; `newer` known cells at the end of the history are not in the fit. */
export function predictRegression(fit: RegressionFit, ground: Ground, newer: number): Float64Array[] {
  const { count, horizon, target, covariates } = ground.sample;
  const perHour = Math.max(1, Math.round(ground.perDay / 24));
  // The last cells of the fit lacked the covariates of the hours that followed: their residuals are computed again.
  const again = Math.max(newer, covariates.length === 0 ? 0 : Math.min(lookAheadHours * perHour, count));
  const from = count - again;
  const linear = linearDesign(ground, from, count + horizon);
  const trees = treeDesign(ground, fit.light, from, count + horizon);
  const { bands } = fit;
  const { cuts } = bands.forest.binned;
  const bins = trees.columns.map((column, index) => binColumn(column, cuts[index] as Float64Array, again + horizon));
  const near = neighboursAt(bands, bins, again + horizon, again);
  const combined = combine(
    fit.candidates.map((candidate) => candidate.predict({ linear, bins, medians: near.medians })),
    fit.weights,
  );
  const known = fit.misses.subarray(0, fit.misses.length + newer - again);
  const misses = new Float64Array(known.length + again);
  misses.set(known);
  const dark = darkCells(ground, fit.light).subarray(from);
  for (let cell = 0; cell < again; cell++) {
    const middle = middleOf(bands, near.medians[cell] as number, combined[cell] as number);
    const miss = (target[from + cell] as number) - middle;
    misses[known.length + cell] = dark[cell] === 1 ? Number.NaN : miss;
  }
  const { added, spread } = carryOver(fit.carry, misses, horizon);
  const rows = bandsAt(bands, near, combined.subarray(again), added, spread);
  for (const [step, row] of rows.entries()) if (dark[again + step] === 1) row.fill(0);
  return rows;
}
