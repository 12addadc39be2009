/**
 * A change of level near the end of a history: a plant that was extended, a shift that was dropped, a meter that counts double. It is
 * detected against what calendar and covariates predict; the history before it is moved to the new level, and while it is young
 * both levels remain possible.
 */
import { expectationOf } from './expectation.ts';
import type { Ground } from './ground.ts';
import type { Sample } from './sample.ts';
import { median, WindowMeans } from './statistics.ts';

export interface LevelShift {
  /** First history cell on the new level. */
  readonly cell: number;
  readonly kind: 'scaled' | 'moved';
  /** The factor, or the addend in units of the target. */
  readonly amount: number;
  /** Probability of the new level; the rest is the old one's. */
  readonly share: number;
}

/** Ages that are tried, in hours: the models have adapted to an older level by themselves. */
const ages = [3, 4, 6, 9, 12, 18, 24, 36, 48, 72, 96, 120, 144, 168, 192];
/** A change is dated at most this many times as far back as the stretch in which it shows. */
const datingReach = 1.5;
/** A shift is looked for in the newest part of this share of the history. */
const newestShare = 0.25;
/** How many times farther the newest stretch must lie than any earlier stretch of its length. */
const beyondEarlier = 2;
/** Least shift, as a share of the mean size of the target. */
const sizeMin = 0.2;
/** Each half of a stretch on a new level shows at least this share of the shift. */
const halfMin = 0.4;
/** Age in hours up to which a change may be a day off that no calendar knows, and the share of the new level then. */
const shares = [
  { hours: 24, share: 0.6 },
  { hours: 48, share: 0.75 },
] as const;

/** Null when the newest days are like all others. `expected` is the result of `expectationOf` for the whole history. */
export function findShift(ground: Ground, expected: Float64Array): LevelShift | null {
  const { sample } = ground;
  const { count, target, cadenceMs } = sample;
  const perHour = 3_600_000 / cadenceMs;
  const misses = target.map((value, cell) => value - (expected[cell] as number));
  const means = new WindowMeans(misses);
  const size = meanSize(target);
  let best = { age: 0, ratio: beyondEarlier };
  for (const hours of ages) {
    const age = Math.round(hours * perHour);
    if (age < 2 || age > count * newestShare) continue;
    const own = stretchMean(means, count - age, count);
    const half = count - (age >> 1);
    if (Math.abs(own) < sizeMin * size) continue;
    if (Math.min(stretchMean(means, count - age, half) / own, stretchMean(means, half, count) / own) < halfMin)
      continue;
    const ratio = Math.abs(own) / farthest(means, age, count);
    if (ratio > best.ratio) best = { age, ratio };
  }
  if (best.age === 0) return null;
  const reach = Math.min(count, Math.ceil(best.age * datingReach));
  const cell = changePoint(misses, stretchMean(means, count - best.age, count), reach);
  return { cell, ...amountOf(ground, cell), share: shareAt((count - cell) / perHour) };
}

/** Mean over the cells [from, to); NaN where less than half of them are known. */
function stretchMean(means: WindowMeans, from: number, to: number): number {
  return means.mean(from - 1, to - 1, (to - from) / 2);
}

/** The farthest mean of an earlier stretch of this length. */
function farthest(means: WindowMeans, age: number, count: number): number {
  const step = Math.max(1, age >> 4);
  let most = 0;
  for (let end = count - age; end >= age; end -= step) {
    const own = Math.abs(stretchMean(means, end - age, end));
    if (own > most) most = own;
  }
  return most;
}

function meanSize(values: Float64Array): number {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.reduce((sum, value) => sum + Math.abs(value), 0) / Math.max(1, known.length);
}

/** The cell from which the residuals lie most clearly on the side of the new level. */
function changePoint(misses: Float64Array, shift: number, reach: number): number {
  let sum = 0;
  let best = { cell: misses.length - 1, sum: 0 };
  for (let cell = misses.length - 1; cell >= misses.length - reach; cell--) {
    const miss = misses[cell] as number;
    if (Number.isNaN(miss)) continue;
    sum += Math.sign(shift) * miss - Math.abs(shift) / 2;
    if (sum > best.sum) best = { cell, sum };
  }
  return best.cell;
}

/** Whether the new level is the old one times a factor or plus an addend: whichever leaves the smaller residuals. */
function amountOf(ground: Ground, cell: number): { kind: LevelShift['kind']; amount: number } {
  const { target } = ground.sample;
  // From the days before only: the new level must not influence what is expected of it.
  const expected = expectationOf(ground, cell);
  const cells: number[] = [];
  for (let at = cell; at < target.length; at++) if (!Number.isNaN(target[at])) cells.push(at);
  let truth = 0;
  let base = 0;
  for (const at of cells) {
    truth += target[at] as number;
    base += expected[at] as number;
  }
  const addend = median(cells.map((at) => (target[at] as number) - (expected[at] as number)));
  const factor = truth / base;
  const left = (miss: (at: number) => number): number => cells.reduce((sum, at) => sum + Math.abs(miss(at)), 0);
  const scaled = left((at) => (target[at] as number) - factor * (expected[at] as number));
  const moved = left((at) => (target[at] as number) - addend - (expected[at] as number));
  return factor > 0 && scaled <= moved ? { kind: 'scaled', amount: factor } : { kind: 'moved', amount: addend };
}

function shareAt(hours: number): number {
  return shares.find((each) => hours < each.hours)?.share ?? 1;
}

/** The history as it would have been on the new level. */
export function onNewLevel(sample: Sample, { cell, kind, amount }: LevelShift): Sample {
  const target = sample.target.map((value, at) =>
    at >= cell ? value : kind === 'scaled' ? value * amount : value + amount,
  );
  return { ...sample, target };
}
