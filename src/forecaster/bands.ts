/**
 * Distributions around the combined forecast. Two ways are mixed: what the forest says about the goal itself, and the
 * combined forecast plus what it missed, out of fold, in the forest's neighbourhood of the cell; and with that, where there are any,
 * what the networks say. The mix and a map of probabilities are calibrated on rows that the models had not seen.
 */
import { type Forest, Neighbourhood } from './forest.ts';
import type { TrainingPlan } from './learning.ts';
import { interpolate, levels, probabilityOf } from './levels.ts';

export interface Bands {
  readonly forest: Forest;
  /** Per row: goal less the combined out-of-fold forecast. */
  readonly misses: Float64Array;
  /** Share of the forest's own distribution; the rest is forecast plus misses. */
  readonly share: number;
  /** Share of the networks' distribution in the whole; 0 where there are none. */
  readonly networkShare: number;
  /** For each level, the level to be read instead, so that the share below it is right out of fold. */
  readonly readAt: Float64Array;
}

/** Rows on which the mix and the map are calibrated: enough for the tails, and quick. */
const calibrationRowsMax = 2500;

const medianAt = levels.indexOf(0.5);

const nearShares = [0, 0.25, 0.5, 0.75, 1];

/**
 * Half or nothing: unseen days beside seen ones, and one network for the mean of all, judge the networks more harshly than the
 * months ahead do, so how small a share they find says little; that they find none says enough.
 */
const networkShares = [0, 0.5];

/** `unseen` gives what the networks say of a row of the plan whose days they have not seen; null where there are none. */
export function calibrateBands(
  forest: Forest,
  combined: Float64Array,
  unseen: ((row: number) => Float64Array) | null,
): Bands {
  const { plan } = forest;
  const misses = plan.goal.map((goal, row) => goal - (combined[row] as number));
  const stride = Math.max(1, Math.ceil(plan.rows.length / calibrationRowsMax));
  const rows = plan.rows.filter((_, index) => index % stride === 0);
  const own = new Neighbourhood(forest, plan.goal);
  const around = new Neighbourhood(forest, misses);
  const direct: Float64Array[] = [];
  const shifted: Float64Array[] = [];
  for (const row of rows) {
    const block = forest.block[row] as number;
    direct.push(own.quantiles(forest.binned.bins, row, block));
    shifted.push(around.quantiles(forest.binned.bins, row, block).map((miss) => miss + (combined[row] as number)));
  }
  const share = bestShare(nearShares, direct, shifted, plan, rows);
  let mixed = mixAll(direct, shifted, share);
  let networkShare = 0;
  if (unseen !== null) {
    const said = Array.from(rows, unseen);
    networkShare = bestShare(networkShares, said, mixed, plan, rows);
    mixed = mixAll(said, mixed, networkShare);
  }
  const certain = certainWidth(plan.goal, rows);
  const reached: number[] = [];
  for (const [index, row] of mixed.entries()) {
    if ((row[row.length - 4] as number) - (row[3] as number) <= certain) continue;
    reached.push(probabilityOf(row, plan.goal[rows[index] as number] as number));
  }
  reached.sort((a, b) => a - b);
  const readAt = levels.map((level) => {
    const own = reached[Math.min(reached.length - 1, Math.floor(level * reached.length))] ?? level;
    return 0.5 + (unseen === null ? narrowing : 1) * (own - 0.5);
  });
  return { forest, misses, share, networkShare, readAt };
}

/**
 * A fit on all days misses a little less than the folds that it is judged by. Said of probabilities and not of values: values that
 * come again and again (a base load, nothing) stay inside the band. Not where networks join: the weeks that they are asked for are
 * further from the history than a fold is.
 */
const narrowing = 0.975;

/** Bands narrower than this share of the goal's own range speak of certainty (nights of a PV plant), not of a spread. */
const certainShare = 0.01;

function certainWidth(goal: Float64Array, rows: Int32Array): number {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const row of rows) {
    least = Math.min(least, goal[row] as number);
    most = Math.max(most, goal[row] as number);
  }
  return certainShare * (most - least);
}

/** Of quantiles, not of probabilities: the mean of two narrow distributions beside each other is narrow, too. */
function mix(one: Float64Array, other: Float64Array, share: number): Float64Array {
  return one.map((value, index) => share * value + (1 - share) * (other[index] as number));
}

function mixAll(one: readonly Float64Array[], other: readonly Float64Array[], share: number): Float64Array[] {
  return one.map((own, index) => mix(own, other[index] as Float64Array, share));
}

/** Which of the shares of `one` in its mix with `other` misses the goals of `rows` least. */
function bestShare(
  shares: readonly number[],
  one: readonly Float64Array[],
  other: readonly Float64Array[],
  { weight, goal }: TrainingPlan,
  rows: Int32Array,
): number {
  const losses = shares.map((share) => {
    let loss = 0;
    for (const [index, row] of rows.entries())
      loss += (weight[row] as number) * pinball(one[index], other[index], share, goal[row] as number);
    return loss;
  });
  return shares[losses.indexOf(Math.min(...losses))] ?? 0;
}

function pinball(one: Float64Array | undefined, other: Float64Array | undefined, share: number, goal: number): number {
  if (one === undefined || other === undefined) return 0;
  let sum = 0;
  for (let index = 0; index < levels.length; index++) {
    const level = levels[index] as number;
    const miss = goal - (share * (one[index] as number) + (1 - share) * (other[index] as number));
    sum += miss >= 0 ? level * miss : (level - 1) * miss;
  }
  return sum;
}

/** One distribution at the levels for each row of `bins`, around `combined` and what the networks `said`, as wide as `spread` says. */
export function bandsAt(
  bands: Bands,
  bins: readonly Uint8Array[],
  combined: Float64Array,
  said: readonly Float64Array[] | null,
  spread: Float64Array,
): Float64Array[] {
  const own = new Neighbourhood(bands.forest, bands.forest.plan.goal);
  const around = new Neighbourhood(bands.forest, bands.misses);
  return Array.from(combined, (value, row) => {
    const shifted = around.quantiles(bins, row, -1).map((miss) => miss + value);
    const near = bands.share === 0 ? shifted : mix(own.quantiles(bins, row, -1), shifted, bands.share);
    const network = said?.[row];
    const mixed = network === undefined ? near : mix(network, near, bands.networkShare);
    const read = bands.readAt.map((level) => interpolate(levels, mixed, level));
    const middle = read[medianAt] as number;
    const width = spread[row] as number;
    return width === 1 ? read : read.map((quantile) => middle + width * (quantile - middle));
  });
}
