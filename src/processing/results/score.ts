/**
 * Scores of stored forecasts [data-processing §8]: errors, bands and references against recorded values. Pure: results and actuals
 * in, groups out. Only produced results are scored, and only points whose target was in the future when the result was stored.
 */
import type { ScoreGroup, ScoreKind } from '../../api/processing-results.ts';
import { SeededStream } from '../../base/seeded.ts';
import { dayMs } from '../../base/timestamp.ts';
import type { Steps } from '../../base/turns.ts';
import { hourOfDay, localMs } from '../../site/local-time.ts';
import type { ResultNumbers } from './packed.ts';
import { referenceNames } from './references.ts';

export interface ScoredResult {
  readonly status: 'produced' | 'fallback' | 'unavailable';
  readonly keptMs: number;
  /** The first label of the horizon. */
  readonly firstMs: number;
  readonly steps: number;
  readonly probabilities: readonly number[];
  /** Null for an unavailable result. */
  readonly numbers: ResultNumbers | null;
}

export interface ScoreQuestion {
  readonly by: ScoreKind;
  /** Targets from here, and before `toMs`. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly cadenceMs: number;
  readonly timeZone: string;
  /** The recorded value of a label; NaN without one. */
  actualAt(labelMs: number): number;
}

const pitShares = 10;
/** Number of resamples of the days, and the share of them inside the interval. */
const resamples = 1000;
const intervalShare = 0.9;
const seed = 20_240_101;

/** Sums over the points of a group. */
interface Sums {
  n: number;
  produced: number;
  fallback: number;
  unavailable: number;
  absolute: number;
  signed: number;
  squared: number;
  pinball: number;
  pinballCount: number;
  readonly bands: Map<string, BandCount>;
  /** Cache: the probabilities that were added last. */
  counted: { readonly of: readonly Band[]; readonly counts: readonly BandCount[] };
  readonly pit: Float64Array;
  /** Per reference: its absolute error and the forecast's, over the points that have both. */
  readonly references: { own: number; reference: number }[];
  /** Absolute error and points by local day, for the interval. */
  readonly days: Map<number, DaySum>;
  /** Cache: the day of the last point, because points of a day usually come together. */
  newest: { readonly day: number; readonly sum: DaySum };
  /** Each result is counted once. */
  lastCounted: ScoredResult | null;
}

interface DaySum {
  absolute: number;
  count: number;
}

interface BandCount {
  inside: number;
  count: number;
}

/** Adds results one by one; `groups` is called once, at the end. */
export class ScoreBoard {
  readonly #question: ScoreQuestion;
  readonly #groups = new Map<number, Sums>();

  constructor(question: ScoreQuestion) {
    this.#question = question;
  }

  add(result: ScoredResult): void {
    const { by, fromMs, toMs, cadenceMs } = this.#question;
    const { numbers, status, steps, firstMs } = result;
    const actuals = this.#actualsOf(result);
    const quantiles = actuals === null ? null : quantileScores(result, actuals);
    const locals = this.#localsOf(result);
    const bands = bandsOf(result.probabilities);
    for (let step = 0; step < steps; step++) {
      const labelMs = firstMs + step * cadenceMs;
      if (labelMs < fromMs || labelMs >= toMs) continue;
      const local = locals[step] as number;
      const sums = this.#sums(keyOf(by, (step + 1) * cadenceMs, local));
      if (sums.lastCounted !== result) {
        sums.lastCounted = result;
        sums[status]++;
      }
      const actual = actuals?.[step] ?? Number.NaN;
      if (numbers === null || Number.isNaN(actual)) continue;
      addPoint(sums, numbers, step, actual, Math.floor(local / dayMs));
      if (quantiles !== null) addQuantiles(sums, result.probabilities, bands, quantiles, step);
    }
  }

  /** The recorded value of each step that can be scored, NaN for the others; null for a result that cannot be scored. */
  #actualsOf({ status, numbers, steps, firstMs, keptMs }: ScoredResult): Float64Array | null {
    const { fromMs, toMs, cadenceMs, actualAt } = this.#question;
    if (status !== 'produced' || numbers === null) return null;
    const actuals = new Float64Array(steps);
    for (let step = 0; step < steps; step++) {
      const labelMs = firstMs + step * cadenceMs;
      actuals[step] = labelMs >= fromMs && labelMs < toMs && labelMs > keptMs ? actualAt(labelMs) : Number.NaN;
    }
    return actuals;
  }

  /** Ascending by key. In steps, because the intervals of many groups take a while. */
  *groups(): Steps<ScoreGroup[]> {
    const found: ScoreGroup[] = [];
    for (const [key, sums] of [...this.#groups].sort(([one], [other]) => one - other)) {
      const draws = yield* drawsOf(sums.days.size);
      found.push(groupOf(writtenKey(this.#question.by, key), sums, draws));
      yield;
    }
    return found;
  }

  /**
   * The middle of each label's interval on the clocks of the zone: the interval that ends at midnight belongs to the day before. A
   * zone changes its offset at most once a day: if two labels less than a day apart share an offset, so do all between them.
   */
  #localsOf({ steps, firstMs }: ScoredResult): Float64Array {
    const { cadenceMs, timeZone } = this.#question;
    const locals = new Float64Array(steps);
    const localAt = (step: number): number => localMs(firstMs + (step - 0.5) * cadenceMs, timeZone);
    const perDay = Math.max(1, Math.floor(dayMs / cadenceMs) - 1);
    for (let from = 0; from < steps; from += perDay) {
      const last = Math.min(from + perDay, steps) - 1;
      const [begin, end] = [localAt(from), localAt(last)];
      const isEven = end - begin === (last - from) * cadenceMs;
      for (let step = from; step <= last; step++)
        locals[step] = isEven ? begin + (step - from) * cadenceMs : localAt(step);
    }
    return locals;
  }

  #sums(key: number): Sums {
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const sums = noSums();
    this.#groups.set(key, sums);
    return sums;
  }
}

function keyOf(by: ScoreKind, leadMs: number, local: number): number {
  if (by === 'lead') return leadMs / 1000;
  if (by === 'hour') return Math.floor(hourOfDay(local));
  if (by === 'day') return Math.floor(local / dayMs);
  return 0;
}

function writtenKey(by: ScoreKind, key: number): ScoreGroup['key'] {
  if (by === 'none') return null;
  return by === 'day' ? new Date(key * dayMs).toISOString().slice(0, 10) : key;
}

function noSums(): Sums {
  return {
    n: 0,
    produced: 0,
    fallback: 0,
    unavailable: 0,
    absolute: 0,
    signed: 0,
    squared: 0,
    pinball: 0,
    pinballCount: 0,
    bands: new Map(),
    counted: { of: [], counts: [] },
    pit: new Float64Array(pitShares),
    references: referenceNames.map(() => ({ own: 0, reference: 0 })),
    days: new Map(),
    newest: { day: Number.NaN, sum: { absolute: 0, count: 0 } },
    lastCounted: null,
  };
}

function addPoint(sums: Sums, numbers: ResultNumbers, step: number, actual: number, day: number): void {
  const error = (numbers.value[step] as number) - actual;
  const absolute = Math.abs(error);
  sums.n++;
  sums.absolute += absolute;
  sums.signed += error;
  sums.squared += error * error;
  for (let index = 0; index < numbers.references.length; index++) {
    const miss = Math.abs((numbers.references[index]?.[step] as number) - actual);
    const both = sums.references[index];
    if (Number.isNaN(miss) || both === undefined) continue;
    both.own += absolute;
    both.reference += miss;
  }
  const own = dayOf(sums, day);
  own.absolute += absolute;
  own.count++;
}

function dayOf(sums: Sums, day: number): DaySum {
  if (sums.newest.day === day) return sums.newest.sum;
  const sum = sums.days.get(day) ?? { absolute: 0, count: 0 };
  sums.days.set(day, sum);
  sums.newest = { day, sum };
  return sum;
}

/** By step. */
interface QuantileScores {
  readonly pinball: Float64Array;
  /** Number of quantiles below the actual value, and number not above it. */
  readonly below: Uint8Array;
  readonly notAbove: Uint8Array;
}

/** Quantiles never decrease: an answer in which they do is refused. Null without quantiles. */
function quantileScores({ numbers, probabilities }: ScoredResult, actuals: Float64Array): QuantileScores | null {
  if (numbers === null || probabilities.length === 0) return null;
  const steps = actuals.length;
  const scores = {
    pinball: new Float64Array(steps),
    below: new Uint8Array(steps),
    notAbove: new Uint8Array(steps),
  };
  const { pinball, below, notAbove } = scores;
  // Row by row, in memory order.
  for (const [index, row] of numbers.quantiles.entries()) {
    const probability = probabilities[index] as number;
    for (let step = 0; step < steps; step++) {
      const miss = (actuals[step] as number) - (row[step] as number);
      // The pinball loss is the larger of the two.
      pinball[step] = (pinball[step] as number) + Math.max(miss * probability, miss * (probability - 1));
      below[step] = (below[step] as number) + Number(miss > 0);
      notAbove[step] = (notAbove[step] as number) + Number(miss >= 0);
    }
  }
  return scores;
}

function addQuantiles(
  sums: Sums,
  probabilities: readonly number[],
  bands: readonly Band[],
  { pinball, below, notAbove }: QuantileScores,
  step: number,
): void {
  sums.pinball += pinball[step] as number;
  sums.pinballCount += probabilities.length;
  if (sums.counted.of !== bands) sums.counted = { of: bands, counts: bands.map(({ key }) => countOf(sums, key)) };
  const { counts } = sums.counted;
  const under = below[step] as number;
  const reached = notAbove[step] as number;
  for (let at = 0; at < bands.length; at++) {
    const { low, high } = bands[at] as Band;
    const count = counts[at] as BandCount;
    count.count++;
    if (low < reached && under <= high) count.inside++;
  }
  const low = under === 0 ? 0 : (probabilities[under - 1] as number);
  const high = reached === probabilities.length ? 1 : (probabilities[reached] as number);
  spread(sums.pit, low, high);
}

function countOf({ bands }: Sums, key: string): BandCount {
  const known = bands.get(key) ?? { inside: 0, count: 0 };
  bands.set(key, known);
  return known;
}

interface Band {
  readonly key: string;
  /** Indices of its probabilities. */
  readonly low: number;
  readonly high: number;
}

const knownBands = new WeakMap<readonly number[], readonly Band[]>();

/** Each pair of probabilities that add up to 1. */
function bandsOf(probabilities: readonly number[]): readonly Band[] {
  let bands = knownBands.get(probabilities);
  if (bands === undefined) {
    bands = probabilities.flatMap((lower, low) => {
      const high = probabilities.length - 1 - low;
      const upper = probabilities[high] as number;
      return low < high && Math.abs(lower + upper - 1) < 1e-9 ? [{ key: `${lower}-${upper}`, low, high }] : [];
    });
    knownBands.set(probabilities, bands);
  }
  return bands;
}

/** One point, spread evenly over the probabilities between the quantiles that enclose it: its exact position is unknown. */
function spread(pit: Float64Array, low: number, high: number): void {
  for (let share = Math.floor(low * pit.length - 1e-9); share < pit.length && share < high * pit.length; share++) {
    if (share < 0) continue;
    const overlap = Math.min(high, (share + 1) / pit.length) - Math.max(low, share / pit.length);
    if (overlap > 0) pit[share] = (pit[share] as number) + overlap / (high - low);
  }
}

function groupOf(key: ScoreGroup['key'], sums: Sums, draws: Uint16Array): ScoreGroup {
  const { n, produced, fallback, unavailable } = sums;
  const mean = (sum: number): number | null => (n === 0 ? null : sum / n);
  const spreadPoints = sums.pit.reduce((sum, share) => sum + share, 0);
  const skill = (index: number): number | null => {
    const both = sums.references[index];
    return both === undefined || !(both.reference > 0) ? null : 1 - both.own / both.reference;
  };
  const squared = mean(sums.squared);
  return {
    key,
    n,
    produced,
    fallback,
    unavailable,
    mae: mean(sums.absolute),
    bias: mean(sums.signed),
    rmse: squared === null ? null : Math.sqrt(squared),
    pinball: sums.pinballCount === 0 ? null : sums.pinball / sums.pinballCount,
    coverage: coverageOf(sums),
    pit: spreadPoints === 0 ? null : Array.from(sums.pit, (share) => share / spreadPoints),
    skill: { persistence: skill(0), same_time_yesterday: skill(1), same_time_last_week: skill(2) },
    interval: intervalOf([...sums.days.values()], draws),
  };
}

/** The widest band first, whatever the order in the forecasts. */
function coverageOf({ bands }: Sums): ScoreGroup['coverage'] {
  const widestFirst = [...bands].toSorted(([one], [other]) => Number.parseFloat(one) - Number.parseFloat(other));
  return Object.fromEntries(widestFirst.map(([band, { inside, count }]) => [band, inside / count]));
}

/** Of the mean absolute error: days are resampled with replacement, because errors of one day are correlated. Null for a single day. */
function intervalOf(
  days: readonly { readonly absolute: number; readonly count: number }[],
  draws: Uint16Array,
): ScoreGroup['interval'] {
  if (days.length < 2) return null;
  const absolutes = Float64Array.from(days, ({ absolute }) => absolute);
  const counts = Float64Array.from(days, ({ count }) => count);
  const means = new Float64Array(resamples);
  for (let sample = 0; sample < resamples; sample++) {
    let [absolute, count] = [0, 0];
    for (let at = sample * days.length; at < (sample + 1) * days.length; at++) {
      const day = draws[at] as number;
      absolute += absolutes[day] as number;
      count += counts[day] as number;
    }
    means[sample] = absolute / count;
  }
  means.sort();
  const at = (share: number): number => means[Math.round(share * (resamples - 1))] as number;
  return { low: at((1 - intervalShare) / 2), high: at((1 + intervalShare) / 2) };
}

let lastDraws = { days: 0, draws: new Uint16Array() };

/** Draws between two places where other work may run. */
const drawsPerStep = 20_000;

/** Indices of the days in each bootstrap resample. Groups with the same number of days share them. */
function* drawsOf(days: number): Steps<Uint16Array> {
  if (lastDraws.days === days) return lastDraws.draws;
  const stream = new SeededStream(seed);
  const draws = new Uint16Array(days < 2 ? 0 : resamples * days);
  for (let at = 0; at < draws.length; at++) {
    if (at % drawsPerStep === 0) yield;
    draws[at] = stream.below(days);
  }
  lastDraws = { days, draws };
  return draws;
}
