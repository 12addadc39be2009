/**
 * The dark cells of a horizon, in which a light-driven target is zero. Detected from the data alone: by a covariate whose zeros
 * were always zeros of the target, or by a time of day at which all recent days were dark.
 */
import type { Ground } from './ground.ts';

/** Share of the target's maximum that counts as zero. */
const nothingShare = 0.005;
/** Tolerated share of dark cells with a non-zero target (stray samples). */
const strayShareMax = 0.003;
/** Bounds of the share of dark cells for a covariate to mark the nights. */
const darkShareMin = 0.15;
const darkShareMax = 0.85;
const darkDays = 10;
/** Share of its maximum by which a light may be negative: hourly differences of a sum carry its rounding. */
const roundingShare = 0.001;

/** One flag per step, 1 where it is dark; null when the target has no nights. */
export function darkSteps(ground: Ground): Uint8Array | null {
  const { sample, perDay } = ground;
  const { target, count, horizon } = sample;
  const nothing = nothingOf(target);
  if (nothing === null) return null;
  const light = lightOf(ground);
  if (light.length > 0) return darkCells(ground, light).slice(count, count + horizon);
  const dark = darkTimes(target, perDay, nothing);
  const share = dark.reduce((sum, flag) => sum + flag, 0) / perDay;
  if (share < darkShareMin || share > darkShareMax) return null;
  return Uint8Array.from({ length: horizon }, (_, step) => dark[(count + step) % perDay] as number);
}

/** Indexes of the covariates whose zeros were always zeros of the target. */
export function lightOf(ground: Ground): readonly number[] {
  const { target } = ground.sample;
  const nothing = nothingOf(target);
  if (nothing === null) return [];
  return ground.covariates.flatMap((values, place) => (showsDarkness(values, target, nothing) ? [place] : []));
}

/** Least correlation of a light-driven target with a covariate that is zero at night. */
const lightCorrelationMin = 0.7;

/** Whether the target follows the sun: it rises and falls with a covariate that is zero at night, and need not be zero then itself. */
export function followsLight({ sample, covariates }: Ground): boolean {
  return covariates.some((values) => {
    let dark = 0;
    for (let cell = 0; cell < values.length; cell++) if ((values[cell] as number) <= 0) dark++;
    const zeros = dark / values.length;
    return zeros >= darkShareMin && zeros <= darkShareMax && correlation(values, sample.target) >= lightCorrelationMin;
  });
}

/** Pearson's, over the cells in which both are known; NaN where one is constant. */
function correlation(one: Float64Array, other: Float64Array): number {
  let [count, sumX, sumY, sumXX, sumYY, sumXY] = [0, 0, 0, 0, 0, 0];
  for (let cell = 0; cell < other.length; cell++) {
    const [x, y] = [one[cell] as number, other[cell] as number];
    if (Number.isNaN(x) || Number.isNaN(y)) continue;
    count++;
    sumX += x;
    sumY += y;
    sumXX += x * x;
    sumYY += y * y;
    sumXY += x * y;
  }
  const [varianceX, varianceY] = [sumXX - (sumX * sumX) / count, sumYY - (sumY * sumY) / count];
  return (sumXY - (sumX * sumY) / count) / Math.sqrt(varianceX * varianceY);
}

/** One flag per cell of history and horizon, 1 where a light is zero. */
export function darkCells(ground: Ground, light: readonly number[]): Uint8Array {
  const dark = new Uint8Array(ground.sample.count + ground.sample.horizon);
  for (const place of light) {
    const values = ground.covariates[place];
    for (let cell = 0; cell < dark.length; cell++) if ((values?.[cell] ?? Number.NaN) <= 0) dark[cell] = 1;
  }
  return dark;
}

/** Threshold below which the target counts as zero; null when it is zero throughout. */
function nothingOf(target: Float64Array): number | null {
  const known = target.filter((value) => value === value).sort();
  const high = known[Math.floor(0.98 * known.length)] ?? 0;
  return high > 0 ? nothingShare * high : null;
}

function showsDarkness(values: Float64Array, target: Float64Array, nothing: number): boolean {
  const least = -roundingShare * values.reduce((most, value) => (value > most ? value : most), 0);
  let zeros = 0;
  let stray = 0;
  let known = 0;
  for (let cell = 0; cell < target.length; cell++) {
    const light = values[cell] as number;
    const value = target[cell] as number;
    if (light !== light || value !== value) continue;
    if (light < least) return false;
    known++;
    if (light > 0) continue;
    zeros++;
    if (value > nothing) stray++;
  }
  const share = zeros / known;
  return share >= darkShareMin && share <= darkShareMax && stray <= strayShareMax * zeros;
}

/** Per cell of the day, whether it and its neighbours were dark on each of the recent days. */
function darkTimes(target: Float64Array, perDay: number, nothing: number): Uint8Array {
  const lit = new Uint8Array(perDay);
  const seen = new Uint8Array(perDay);
  for (let cell = Math.max(0, target.length - darkDays * perDay); cell < target.length; cell++) {
    const value = target[cell] as number;
    if (value !== value) continue;
    seen[cell % perDay] = 1;
    if (value > nothing) lit[cell % perDay] = 1;
  }
  return lit.map((_, slot) => {
    const before = (slot + perDay - 1) % perDay;
    const after = (slot + 1) % perDay;
    const dark = seen[slot] === 1 && lit[slot] === 0 && lit[before] === 0 && lit[after] === 0;
    return dark ? 1 : 0;
  });
}
