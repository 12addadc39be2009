/**
 * `npm run forecaster:score -- --data DIR`: the table of the reference forecaster on the development data, floors beside it.
 * Options: `--set NAME,…`, `--origins scored|earlier`, `--every N` (each Nth case only), `--cases` (one line a case).
 */
import { parseArgs } from 'node:util';
import { systemClock } from '../base/clock.ts';
import { forecastSample } from '../forecaster/forecast.ts';
import { type ScoreCase, type ScoreSet, scoreSets } from './score-data.ts';
import { naiveQuantiles, profileMean, seasonalNaive } from './score-floors.ts';
import { averageScore, type CaseScore, naiveTwo, type ScoredForecast, scoreCase } from './score-measures.ts';

const { values: given } = parseArgs({
  options: {
    data: { type: 'string' },
    set: { type: 'string' },
    origins: { type: 'string', default: 'scored' },
    every: { type: 'string', default: '1' },
    cases: { type: 'boolean', default: false },
    floors: { type: 'boolean', default: false },
  },
});

type Method = (own: ScoreCase) => ScoredForecast;

const naive =
  (lagDays: number, make: (sample: ScoreCase['sample']) => Float64Array): Method =>
  ({ sample, quantiles }) => {
    const value = make(sample);
    return { value, quantiles: naiveQuantiles(sample, value, lagDays, quantiles) };
  };

const naiveTwoOf: Method = ({ sample, quantiles }) => {
  const value = naiveTwo(sample.target, sample.horizon, 24);
  return { value, quantiles: quantiles.map(() => value) };
};

const floors: Readonly<Record<string, Method>> = {
  'seasonal naive (day)': naive(1, (sample) => seasonalNaive(sample, 1)),
  'seasonal naive (week)': naive(7, (sample) => seasonalNaive(sample, 7)),
  'mean of 7 days': naive(1, (sample) => profileMean(sample, 7)),
};

function forecaster(times: number[]): Method {
  return (own) => {
    const before = process.cpuUsage();
    const answer = forecastSample(own.sample, { minimum: own.minimum, probabilities: Float64Array.from(own.quantiles) });
    times.push(process.cpuUsage(before).user / 1000);
    return answer;
  };
}

/** By day: the darkness of a PV set says nothing about its band. */
function countedAbove(set: string): number {
  return set === 'pv' ? 0.02 : set === 'gefcom' ? 0.0 : Number.NEGATIVE_INFINITY;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

const digits = (value: number, count = 4): string => value.toFixed(count);

function line(name: string, scores: readonly CaseScore[], reference: readonly CaseScore[] | undefined): string {
  const own = averageScore(scores);
  const base = reference === undefined ? undefined : averageScore(reference);
  const owa = base === undefined ? '' : digits((own.smape / base.smape + own.mase / base.mase) / 2);
  const cells = [own.mase, own.scaledPinball, own.pinball, own.nmae, own.coverage].map((value) => digits(value).padStart(9));
  return [name.padEnd(24), ...cells, owa.padStart(8)].join(' ');
}

function scoreSet(set: ScoreSet, cases: readonly ScoreCase[]): void {
  const above = countedAbove(set.name);
  const times: number[] = [];
  const methods = Object.entries({ ...floors, ...(given.floors ? {} : { forecaster: forecaster(times) }) });
  const reference = set.name === 'm4' ? cases.map((own) => scoreCase(own, naiveTwoOf(own), above)) : undefined;
  console.log(`\n${set.name}: ${cases.length} forecasts`);
  console.log(`${''.padEnd(24)}      mase  sPinball   pinball      nmae  coverage      owa`);
  const all = methods.map(([name, method]) => {
    const scores = cases.map((own) => scoreCase(own, method(own), above));
    console.log(line(name, scores, reference));
    return scores;
  });
  const own = all.at(-1) ?? [];
  for (const series of new Set(cases.map((each) => each.series))) {
    if (set.name === 'm4' || given.floors) break;
    console.log(line(`  ${series}`, own.filter((_, index) => cases[index]?.series === series), undefined));
  }
  if (given.cases) {
    for (const [index, each] of cases.entries()) {
      const score = own[index];
      const day = all[0]?.[index];
      const week = all[1]?.[index];
      if (score === undefined || day === undefined || week === undefined) continue;
      console.log(each.series, each.origin, digits(score.mase), digits(day.mase), digits(week.mase), digits(score.inside / score.counted, 2));
    }
  }
  if (times.length > 0) console.log(`time ms p50 ${percentile(times, 0.5).toFixed(0)} p95 ${percentile(times, 0.95).toFixed(0)}`);
}

function main(): void {
  const { data, set: wanted, origins, every } = given;
  if (data === undefined) throw new Error('say where the data are: --data DIR');
  for (const set of scoreSets) {
    if (wanted !== undefined && !wanted.split(',').includes(set.name)) continue;
    const cases = set.read(data, origins === 'earlier' ? 'earlier' : 'scored');
    scoreSet(set, cases.filter((_, index) => index % Number(every) === 0));
  }
}

main();
