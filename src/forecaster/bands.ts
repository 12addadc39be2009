/**
 * Distributions around the combined forecast. Two ways are mixed: what the forest says about the goal itself, and the
 * combined forecast plus what it missed, out of fold, in the forest's neighbourhood of the cell. The mix and a map of
 * probabilities are calibrated on rows that the models had not seen.
 */
import { type Forest, Neighbourhood } from './forest.ts';
import { interpolate, levels, probabilityOf } from './levels.ts';

export interface Bands {
  readonly forest: Forest;
  /** Per row: goal less the combined out-of-fold forecast. */
  readonly misses: Float64Array;
  /** Share of the forest's own distribution; the rest is forecast plus misses. */
  readonly share: number;
  /** For each level, the level to be read instead, so that the share below it is right out of fold. */
  readonly readAt: Float64Array;
}

/** Rows on which the mix and the map are calibrated: enough for the tails, and quick. */
const calibrationRowsMax = 2500;

const medianAt = levels.indexOf(0.5);

const shares = [0, 0.25, 0.5, 0.75, 1];

export function calibrateBands(forest: Forest, combined: Float64Array): Bands {
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
  let best = { share: 0, loss: Number.POSITIVE_INFINITY };
  for (const share of shares) {
    let loss = 0;
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as number;
      loss += (plan.weight[row] as number) * pinball(direct[index], shifted[index], share, plan.goal[row] as number);
    }
    if (loss < best.loss) best = { share, loss };
  }
  const certain = certainWidth(plan.goal, rows);
  const reached: number[] = [];
  for (let index = 0; index < rows.length; index++) {
    const mixed = mix(direct[index] as Float64Array, shifted[index] as Float64Array, best.share);
    if ((mixed[mixed.length - 4] as number) - (mixed[3] as number) <= certain) continue;
    reached.push(probabilityOf(mixed, plan.goal[rows[index] as number] as number));
  }
  reached.sort((a, b) => a - b);
  const readAt = levels.map((level) => {
    const own = reached[Math.min(reached.length - 1, Math.floor(level * reached.length))] ?? level;
    return 0.5 + narrowing * (own - 0.5);
  });
  return { forest, misses, share: best.share, readAt };
}

/**
 * A fit on all days misses a little less than the folds that it is judged by. Said of probabilities and not of values: values that
 * come again and again (a base load, nothing) stay inside the band.
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

function mix(direct: Float64Array, shifted: Float64Array, share: number): Float64Array {
  return direct.map((value, index) => share * value + (1 - share) * (shifted[index] as number));
}

function pinball(
  direct: Float64Array | undefined,
  shifted: Float64Array | undefined,
  share: number,
  goal: number,
): number {
  if (direct === undefined || shifted === undefined) return 0;
  let sum = 0;
  for (let index = 0; index < levels.length; index++) {
    const level = levels[index] as number;
    const miss = goal - (share * (direct[index] as number) + (1 - share) * (shifted[index] as number));
    sum += miss >= 0 ? level * miss : (level - 1) * miss;
  }
  return sum;
}

/** One distribution at the levels for each row of `bins`, around `combined`, as wide as `spread` says of each. */
export function bandsAt(
  bands: Bands,
  bins: readonly Uint8Array[],
  combined: Float64Array,
  spread: Float64Array,
): Float64Array[] {
  const own = new Neighbourhood(bands.forest, bands.forest.plan.goal);
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
