/**
 * `--leads`: the mean absolute error by lead time of forecasts that are issued throughout the day, beside the last value and the same
 * time a week before. Each case is also issued 3, 6, … 21 hours earlier, with a history that is as much shorter.
 */
import type { ScoreCase } from './score-data.ts';
import type { ScoredForecast } from './score-measures.ts';

/** Leads in hours, from and to. */
const bands = [
  [0, 1],
  [1, 4],
  [4, 12],
  [12, 24],
] as const;
const hoursBack = [0, 3, 6, 9, 12, 15, 18, 21];
const hourMs = 3_600_000;

function issuedEarlier(own: ScoreCase, hours: number): ScoreCase {
  const { sample } = own;
  const count = sample.count - Math.round((hours * hourMs) / sample.cadenceMs);
  const known = Float64Array.of(...sample.target, ...own.actual);
  const covariates = sample.covariates.map(({ name, values }) => ({
    name,
    values: values.slice(0, count + sample.horizon),
  }));
  return {
    ...own,
    sample: { ...sample, count, target: sample.target.slice(0, count), covariates },
    actual: known.slice(count, count + sample.horizon),
  };
}

/** Sums per band. */
class LeadErrors {
  readonly #sums = bands.map(() => ({ forecast: 0, last: 0, week: 0, inside: 0, steps: 0 }));

  add({ sample, actual, quantiles }: ScoreCase, forecast: ScoredForecast): void {
    const perHour = hourMs / sample.cadenceMs;
    const [low, high] = [quantiles.indexOf(0.1), quantiles.indexOf(0.9)];
    for (const [step, value] of actual.entries()) {
      const sum = this.#sums[bands.findIndex(([from, to]) => step >= from * perHour && step < to * perHour)];
      const week = sample.target[sample.count + step - 7 * 24 * perHour] ?? Number.NaN;
      const last = sample.target[sample.count - 1] ?? Number.NaN;
      if (sum === undefined || Number.isNaN(value + week + last)) continue;
      sum.steps++;
      sum.forecast += Math.abs(value - (forecast.value[step] ?? Number.NaN));
      sum.last += Math.abs(value - last);
      sum.week += Math.abs(value - week);
      const [from = Number.NaN, to = Number.NaN] = [forecast.quantiles[low]?.[step], forecast.quantiles[high]?.[step]];
      if (value >= from && value <= to) sum.inside++;
    }
  }

  print(): void {
    console.log(`${'hours ahead'.padEnd(24)} forecaster      last      week  coverage`);
    for (const [at, { forecast, last, week, inside, steps }] of this.#sums.entries()) {
      const cells = [forecast, last, week, inside].map((sum) => (sum / steps).toFixed(3).padStart(10));
      console.log(`${(bands[at] ?? []).join(' to ').padEnd(24)} ${cells.join('')}`);
    }
  }
}

export function printLeads(
  name: string,
  cases: readonly ScoreCase[],
  method: (own: ScoreCase) => ScoredForecast,
): void {
  const errors = new LeadErrors();
  for (const own of cases)
    for (const hours of hoursBack) {
      const earlier = issuedEarlier(own, hours);
      errors.add(earlier, method(earlier));
    }
  console.log(`\n${name}: ${cases.length * hoursBack.length} forecasts, issued every three hours of a day`);
  errors.print();
}
