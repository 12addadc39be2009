/**
 * Predictive distributions around the combined forecast: a mixture of the forest's distribution of the target and of the combined
 * forecast plus its out-of-fold residuals in the forest's neighbourhood of the cell. The mixture's weight and a calibration map of
 * probabilities are fitted on held-out rows.
 */
import { type Forest, Neighbourhood, type Ranking, rankingOf } from './forest.ts';
import type { TrainingPlan } from './learning.ts';
import { interpolate, levels, probabilityOf } from './levels.ts';

export interface Bands {
  readonly forest: Forest;
  /** The training rows ordered by their targets, and by their targets less the combined out-of-fold forecast. */
  readonly targets: Ranking;
  readonly misses: Ranking;
  /** Weight of the forest's own distribution; the rest is forecast plus residuals. */
  readonly share: number;
  /** Calibration map: for each level, the level to read instead, so that its out-of-fold coverage is right. */
  readonly readAt: Float64Array;
}

/** Rows on which the mix and the map are calibrated: enough for the tails, and fast. */
const calibrationRowsMax = 2500;

const medianAt = levels.indexOf(0.5);

const nearShares = [0, 0.25, 0.5, 0.75, 1];

export function calibrateBands(forest: Forest, targets: Ranking, combined: Float64Array): Bands {
  const { plan } = forest;
  const misses = rankingOf(
    forest,
    plan.target.map((target, row) => target - (combined[row] as number)),
  );
  const stride = Math.max(1, Math.ceil(plan.rows.length / calibrationRowsMax));
  const rows = plan.rows.filter((_, index) => index % stride === 0);
  const near = new Neighbourhood(forest);
  const direct: Float64Array[] = [];
  const shifted: Float64Array[] = [];
  for (const row of rows) {
    near.find(forest.binned.bins, row, forest.block[row] as number);
    direct.push(near.quantiles(targets));
    shifted.push(near.quantiles(misses).map((miss) => miss + (combined[row] as number)));
  }
  const share = bestShare(nearShares, direct, shifted, plan, rows);
  const mixed = direct.map((own, index) => mix(own, shifted[index] as Float64Array, share));
  const certain = certainWidth(plan.target, rows);
  const reached: number[] = [];
  for (const [index, row] of mixed.entries()) {
    if ((row[row.length - 4] as number) - (row[3] as number) <= certain) continue;
    reached.push(probabilityOf(row, plan.target[rows[index] as number] as number));
  }
  reached.sort((a, b) => a - b);
  const readAt = levels.map((level) => {
    const own = reached[Math.min(reached.length - 1, Math.floor(level * reached.length))] ?? level;
    return 0.5 + narrowing * (own - 0.5);
  });
  return { forest, targets, misses, share, readAt };
}

/**
 * A fit on all days has slightly smaller residuals than its folds. The correction applies to probabilities, not to values, so that
 * recurring values (a base load, zero) stay inside the band.
 */
const narrowing = 0.975;

/** Where the band is narrower than this share of the target's range (nights of a PV plant), it is not recalibrated. */
const certainShare = 0.01;

function certainWidth(target: Float64Array, rows: Int32Array): number {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const row of rows) {
    least = Math.min(least, target[row] as number);
    most = Math.max(most, target[row] as number);
  }
  return certainShare * (most - least);
}

/** A mean of quantiles, not of probabilities: the mean of two narrow distributions side by side is narrow, too. */
function mix(one: Float64Array, other: Float64Array, share: number): Float64Array {
  return one.map((value, index) => share * value + (1 - share) * (other[index] as number));
}

/** The weight of `one` in its mixture with `other` that has the smallest pinball loss on `rows`. */
function bestShare(
  shares: readonly number[],
  one: readonly Float64Array[],
  other: readonly Float64Array[],
  { weight, target }: TrainingPlan,
  rows: Int32Array,
): number {
  const losses = shares.map((share) => {
    let loss = 0;
    for (const [index, row] of rows.entries())
      loss += (weight[row] as number) * pinball(one[index], other[index], share, target[row] as number);
    return loss;
  });
  return shares[losses.indexOf(Math.min(...losses))] ?? 0;
}

function pinball(
  one: Float64Array | undefined,
  other: Float64Array | undefined,
  share: number,
  target: number,
): number {
  if (one === undefined || other === undefined) return 0;
  let sum = 0;
  for (let index = 0; index < levels.length; index++) {
    const level = levels[index] as number;
    const miss = target - (share * (one[index] as number) + (1 - share) * (other[index] as number));
    sum += miss >= 0 ? level * miss : (level - 1) * miss;
  }
  return sum;
}

/** The forest's distributions for the rows of `bins`. */
export interface Neighbours {
  /** The median of the targets, per row. */
  readonly medians: Float64Array;
  /** From row `from` on, quantiles at the levels: of the targets, and of the residuals of the combined forecast. */
  readonly targets: readonly Float64Array[];
  readonly misses: readonly Float64Array[];
}

export function neighboursAt(
  { forest, ...bands }: Bands,
  bins: readonly Uint8Array[],
  count: number,
  from: number,
): Neighbours {
  const near = new Neighbourhood(forest);
  const medians = new Float64Array(count);
  const targets: Float64Array[] = [];
  const misses: Float64Array[] = [];
  for (let row = 0; row < count; row++) {
    near.find(bins, row, -1);
    if (row < from) {
      medians[row] = near.median(bands.targets);
      continue;
    }
    const own = near.quantiles(bands.targets);
    medians[row] = own[medianAt] as number;
    targets.push(own);
    misses.push(near.quantiles(bands.misses));
  }
  return { medians, targets, misses };
}

/** One distribution at the levels for each row of `near`, around `combined`, with the width of `spread`. */
export function bandsAt(
  { share, readAt }: Bands,
  near: Pick<Neighbours, 'targets' | 'misses'>,
  combined: Float64Array,
  added: Float64Array,
  spread: Float64Array,
): Float64Array[] {
  return near.misses.map((misses, row) => {
    const value = combined[row] as number;
    const more = added[row] as number;
    const shifted = misses.map((miss) => miss + value);
    const mixed = share === 0 ? shifted : mix(near.targets[row] as Float64Array, shifted, share);
    const read = readAt.map((level) => interpolate(levels, mixed, level));
    const middle = read[medianAt] as number;
    const width = spread[row] as number;
    return width === 1 && more === 0 ? read : read.map((quantile) => middle + more + width * (quantile - middle));
  });
}
