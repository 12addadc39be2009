/**
 * Predictive distributions around the combined forecast: a mixture of the forest's distribution of the target and of the combined
 * forecast plus its out-of-fold residuals in the forest's neighbourhood of the cell. The mixture's weight and a calibration map of
 * probabilities are fitted on held-out rows.
 */
import { type Forest, Neighbourhood } from './forest.ts';
import type { TrainingPlan } from './learning.ts';
import { interpolate, levels, probabilityOf } from './levels.ts';

export interface Bands {
  readonly forest: Forest;
  /** Per row: target less the combined out-of-fold forecast. */
  readonly misses: Float64Array;
  /** Weight of the forest's own distribution; the rest is forecast plus residuals. */
  readonly share: number;
  /** Calibration map: for each level, the level to read instead, so that its out-of-fold coverage is right. */
  readonly readAt: Float64Array;
}

/** Rows on which the mix and the map are calibrated: enough for the tails, and quick. */
const calibrationRowsMax = 2500;

const medianAt = levels.indexOf(0.5);

const nearShares = [0, 0.25, 0.5, 0.75, 1];

export function calibrateBands(forest: Forest, combined: Float64Array): Bands {
  const { plan } = forest;
  const misses = plan.target.map((target, row) => target - (combined[row] as number));
  const stride = Math.max(1, Math.ceil(plan.rows.length / calibrationRowsMax));
  const rows = plan.rows.filter((_, index) => index % stride === 0);
  const own = new Neighbourhood(forest, plan.target);
  const around = new Neighbourhood(forest, misses);
  const direct: Float64Array[] = [];
  const shifted: Float64Array[] = [];
  for (const row of rows) {
    const block = forest.block[row] as number;
    direct.push(own.quantiles(forest.binned.bins, row, block));
    shifted.push(around.quantiles(forest.binned.bins, row, block).map((miss) => miss + (combined[row] as number)));
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
  return { forest, misses, share, readAt };
}

/**
 * A fit on all days has slightly smaller residuals than its folds. The correction applies to probabilities, not to values, so that
 * recurring values (a base load, zero) stay inside the band.
 */
const narrowing = 0.975;

/** Bands narrower than this share of the target's range are certain (nights of a PV plant) and are not recalibrated. */
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

/** Of quantiles, not of probabilities: the mean of two narrow distributions beside each other is narrow, too. */
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

/** One distribution at the levels for each row of `bins`, around `combined`, with the width of `spread`. */
export function bandsAt(
  bands: Bands,
  bins: readonly Uint8Array[],
  combined: Float64Array,
  spread: Float64Array,
): Float64Array[] {
  const own = new Neighbourhood(bands.forest, bands.forest.plan.target);
  const around = new Neighbourhood(bands.forest, bands.misses);
  return Array.from(combined, (value, row) => {
    const shifted = around.quantiles(bins, row, -1).map((miss) => miss + value);
    const mixed = bands.share === 0 ? shifted : mix(own.quantiles(bins, row, -1), shifted, bands.share);
    const read = bands.readAt.map((level) => interpolate(levels, mixed, level));
    const middle = read[medianAt] as number;
    const width = spread[row] as number;
    return width === 1 ? read : read.map((quantile) => middle + width * (quantile - middle));
  });
}
