/** The floors of the score: naive forecasts that every model of the forecaster must beat. */
import { dayMs } from '../../src/base/timestamp.ts';
import type { Sample } from '../../src/forecaster/sample.ts';

/** The value one lag before each step; where it is missing, that one lag further back. */
export function seasonalNaive(sample: Sample, lagDays: number): Float64Array {
  const lag = Math.round((lagDays * dayMs) / sample.cadenceMs);
  const last = sample.target.findLast((value) => !Number.isNaN(value)) ?? 0;
  return Float64Array.from({ length: sample.horizon }, (_, step) => {
    let cell = sample.count + step;
    do cell -= lag;
    while (cell >= sample.count || Number.isNaN(sample.target[cell]));
    return cell < 0 ? last : (sample.target[cell] ?? last);
  });
}

/** The mean of the same time of day over the last `days` days. */
export function profileMean(sample: Sample, days: number): Float64Array {
  const perDay = Math.round(dayMs / sample.cadenceMs);
  return Float64Array.from({ length: sample.horizon }, (_, step) => {
    let sum = 0;
    let found = 0;
    const first = sample.count + (step % perDay) - perDay;
    for (let day = 0; day < days; day++) {
      const value = sample.target[first - day * perDay];
      if (value === undefined || Number.isNaN(value)) continue;
      sum += value;
      found++;
    }
    return found === 0 ? 0 : sum / found;
  });
}

/** Naive value plus the quantiles of the same naive forecast's errors in the history, per step of the day. */
export function naiveQuantiles(
  sample: Sample,
  value: Float64Array,
  lagDays: number,
  probabilities: readonly number[],
): Float64Array[] {
  const lag = Math.round((lagDays * dayMs) / sample.cadenceMs);
  const misses: number[] = [];
  for (let cell = lag; cell < sample.count; cell++) {
    const miss = (sample.target[cell] ?? Number.NaN) - (sample.target[cell - lag] ?? Number.NaN);
    if (!Number.isNaN(miss)) misses.push(miss);
  }
  misses.sort((a, b) => a - b);
  return probabilities.map((probability) => {
    const shift = misses[Math.min(misses.length - 1, Math.floor(probability * misses.length))] ?? 0;
    return value.map((own) => own + shift);
  });
}
