/**
 * Whether the newest values can be trusted: a jump beyond anything before, younger than an hour, is a glitch or a new level, and
 * these cannot be told apart yet. Forecasts carry the newest residuals on, so such cells count as missing until more is known.
 */
import type { Ground } from './ground.ts';
import type { Sample } from './sample.ts';
import { medianOfFew } from './statistics.ts';

/** Cells before a jump against whose median it is measured. */
const cellsBefore = 4;
/** Share of the earlier jumps that are ordinary, and how many times farther a doubted one goes. */
const ordinaryShare = 0.999;
const beyondOrdinary = 2;
/** Smallest doubtful jump, as a share of the target's range in its history. */
const jumpMin = 0.25;
/** Age of the oldest doubtful cell. */
const doubtMs = 3_600_000;

/** How many of the newest cells are doubtful; usually 0. */
export function doubtedCells({ sample }: Ground, expected: Float64Array): number {
  const { count, target, cadenceMs } = sample;
  const misses = target.map((value, cell) => value - (expected[cell] as number));
  const most = Math.max(1, Math.floor(doubtMs / cadenceMs));
  const limit = limitOf(misses, target, count - most);
  for (let cells = most; cells > 0; cells--) {
    const base = medianBefore(misses, count - cells);
    const isFar = (miss: number): boolean => Math.abs(miss - base) > limit;
    // Where the cell before is as far out, the jump is older than that.
    if (misses.subarray(count - cells).every(isFar) && !isFar(misses[count - cells - 1] ?? base)) return cells;
  }
  return 0;
}

function limitOf(misses: Float64Array, target: Float64Array, until: number): number {
  const jumps = new Float64Array(Math.max(0, until - cellsBefore));
  let known = 0;
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let cell = cellsBefore; cell < until; cell++) {
    const jump = Math.abs((misses[cell] as number) - medianBefore(misses, cell));
    if (Number.isNaN(jump)) continue;
    jumps[known++] = jump;
    low = Math.min(low, target[cell] as number);
    high = Math.max(high, target[cell] as number);
  }
  const sorted = jumps.subarray(0, known).sort();
  const ordinary = sorted[Math.floor(ordinaryShare * (known - 1))] ?? Number.POSITIVE_INFINITY;
  return Math.max(beyondOrdinary * ordinary, jumpMin * (high - low));
}

const before = new Float64Array(cellsBefore);

/** The median of the known cells right before one; NaN when there are none. */
function medianBefore(misses: Float64Array, cell: number): number {
  let count = 0;
  for (let at = Math.max(0, cell - cellsBefore); at < cell; at++) {
    const miss = misses[at] as number;
    if (miss === miss) before[count++] = miss;
  }
  return medianOfFew(before, count);
}

/** The sample with its newest `cells` missing. */
export function withoutNewest(sample: Sample, cells: number): Sample {
  if (cells === 0) return sample;
  const target = sample.target.slice();
  target.fill(Number.NaN, sample.count - cells);
  return { ...sample, target };
}
