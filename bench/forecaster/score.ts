/**
 * `npm run forecaster:score -- --data DIR`: the table of the reference forecaster on the development data, floors beside it.
 * Through the real route: a forecaster of its own is started and asked over HTTP. Options: `--direct` (the models are called
 * in this process), `--again` (times only: six hours before each origin, and an hour later), `--missing SHARE` (that
 * part of the history is taken away), `--fault …` (`score-faults.ts`), `--set NAME,…`, `--origins scored|earlier`, `--every N` (each Nth case only), `--cases` (one line a case),
 * `--leads` (errors by lead time, `score-leads.ts`).
 */
import { parseArgs } from 'node:util';
import { forecastSample } from '../../src/forecaster/forecast.ts';
import { hoursBefore, type ScoreCase, type ScoreSet, scoreSets, withoutCells } from './score-data.ts';
import { withFault } from './score-faults.ts';
import { naiveQuantiles, profileMean, seasonalNaive } from './score-floors.ts';
import { printLeads } from './score-leads.ts';
import { averageScore, type CaseScore, naiveTwo, type ScoredForecast, scoreCase } from './score-measures.ts';
import { type ForecastRoute, startForecastRoute } from './score-route.ts';

const { values: given } = parseArgs({
  options: {
    data: { type: 'string' },
    set: { type: 'string' },
    origins: { type: 'string', default: 'scored' },
    every: { type: 'string', default: '1' },
    cases: { type: 'boolean', default: false },
    floors: { type: 'boolean', default: false },
    direct: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
    missing: { type: 'string', default: '0' },
    fault: { type: 'string' },
    leads: { type: 'boolean', default: false },
  },
});

interface Times {
  readonly waited: number[];
  readonly computed: number[];
}

type Method = (own: ScoreCase) => ScoredForecast | Promise<ScoredForecast>;

const naive =
  (lagDays: number, make: (sample: ScoreCase['sample']) => Float64Array): Method =>
  ({ sample, quantiles }) => {
    const value = make(sample);
    return { value, quantiles: naiveQuantiles(sample, value, lagDays, quantiles) };
  };

const naiveTwoOf = ({ sample, quantiles }: ScoreCase): ScoredForecast => {
  const value = naiveTwo(sample.target, sample.horizon, 24);
  return { value, quantiles: quantiles.map(() => value) };
};

const floors: Readonly<Record<string, Method>> = {
  'seasonal naive (day)': naive(1, (sample) => seasonalNaive(sample, 1)),
  'seasonal naive (week)': naive(7, (sample) => seasonalNaive(sample, 7)),
  'mean of 7 days': naive(1, (sample) => profileMean(sample, 7)),
};

/** The models in this process; their time is that of the processor alone. */
function directly(own: ScoreCase, times: Times): ScoredForecast {
  const before = process.cpuUsage();
  const probabilities = Float64Array.from(own.quantiles);
  const answer = forecastSample(own.sample, { minimum: own.minimum, probabilities });
  times.computed.push(process.cpuUsage(before).user / 1000);
  return answer;
}

/** The service, called as a site calls it. */
function throughRoute(route: ForecastRoute, times: Times): Method {
  return async (own) => {
    const { forecast, waitedMs, computedMs } = await route.ask(own);
    times.waited.push(waitedMs);
    times.computed.push(computedMs);
    return forecast;
  };
}

/** `--again`: the time of a forecast, and of another for the same series an hour later. */
async function timeAgain(set: ScoreSet, cases: readonly ScoreCase[]): Promise<void> {
  const route = await startForecastRoute(cases.map((own) => hoursBefore(own, 5)));
  const first: Times = { waited: [], computed: [] };
  const again: Times = { waited: [], computed: [] };
  for (const own of cases) {
    await throughRoute(route, first)(hoursBefore(own, 6));
    await throughRoute(route, again)(hoursBefore(own, 5));
  }
  await route.close();
  console.log(`\n${set.name}: ${cases.length} forecasts, each again an hour later`);
  printTimes('', first);
  printTimes('an hour later', again);
}

/** By day only: a band at night says nothing about a PV set. */
function countedAbove(set: string): number {
  return set === 'pv' || set === 'gefcom' ? 0.02 : Number.NEGATIVE_INFINITY;
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
  const cells = [own.mase, own.scaledPinball, own.pinball, own.nmae, own.coverage].map((value) =>
    digits(value).padStart(9),
  );
  return [name.padEnd(24), ...cells, owa.padStart(8)].join(' ');
}

/** Per series, the error against that of the best naive line (of M4, the day before). */
function printRatios(own: readonly CaseScore[], naive: readonly CaseScore[]): void {
  const ratios = own.map(({ mase }, index) => mase / (naive[index]?.mase ?? Number.NaN));
  const worse = ratios.filter((ratio) => ratio > 1.1).length / ratios.length;
  console.log(
    `series against the day before: median ratio ${digits(percentile(ratios, 0.5), 3)}, worse by more than 10%: ${digits(worse, 3)}`,
  );
}

async function scoreSet(set: ScoreSet, cases: readonly ScoreCase[]): Promise<void> {
  const above = countedAbove(set.name);
  const times: Times = { waited: [], computed: [] };
  const asked = cases.map((own, index) => withoutCells(own, Number(given.missing), index));
  const route = given.floors || given.direct ? null : await startForecastRoute(asked);
  const models: Method = route === null ? (own) => directly(own, times) : throughRoute(route, times);
  const methods = Object.entries({ ...floors, ...(given.floors ? {} : { forecaster: models }) });
  const reference = set.name === 'm4' ? cases.map((own) => scoreCase(own, naiveTwoOf(own), above)) : undefined;
  console.log(`\n${set.name}: ${cases.length} forecasts`);
  console.log(`${''.padEnd(24)}      mase  sPinball   pinball      nmae  coverage      owa`);
  const all: CaseScore[][] = [];
  for (const [name, method] of methods) {
    const scores: CaseScore[] = [];
    for (const [index, own] of cases.entries()) scores.push(scoreCase(own, await method(asked[index] ?? own), above));
    console.log(line(name, scores, reference));
    all.push(scores);
  }
  await route?.close();
  const own = all.at(-1) ?? [];
  for (const series of set.name === 'm4' || given.floors ? [] : new Set(cases.map((each) => each.series))) {
    const scores = own.filter((_, index) => cases[index]?.series === series);
    console.log(line(`  ${series}`, scores, undefined));
  }
  if (set.name === 'm4' && !given.floors) printRatios(own, all[0] ?? []);
  if (given.cases) printCases(cases, all);
  printTimes('', times);
}

function printCases(cases: readonly ScoreCase[], all: readonly (readonly CaseScore[])[]): void {
  for (const [index, each] of cases.entries()) {
    const [day, week] = [all[0]?.[index], all[1]?.[index]];
    const score = all.at(-1)?.[index];
    if (score === undefined || day === undefined || week === undefined) continue;
    const cells = [digits(score.mase), digits(day.mase), digits(week.mase), digits(score.inside / score.counted, 2)];
    console.log(each.series, each.origin, ...cells);
  }
}

/** The waiting time of callers, and the forecaster's processor time meanwhile. */
function printTimes(name: string, { waited, computed }: Times): void {
  for (const [what, times] of Object.entries({ waited, computed })) {
    if (times.length === 0) continue;
    const [half, most] = [percentile(times, 0.5), percentile(times, 0.95)];
    console.log(`${`${what} ${name}`.padEnd(24)} p50 ${half.toFixed(0)} ms, p95 ${most.toFixed(0)} ms`);
  }
}

async function main(): Promise<void> {
  const { data, set: wanted, origins, every, fault } = given;
  if (data === undefined) throw new Error('say where the data are: --data DIR');
  for (const set of scoreSets) {
    if (wanted !== undefined && !wanted.split(',').includes(set.name)) continue;
    const cases = set.read(data, origins === 'earlier' ? 'earlier' : 'scored');
    const picked = cases.filter((_, index) => index % Number(every) === 0);
    const chosen = fault === undefined ? picked : picked.map((own, index) => withFault(own, fault, index));
    if (given.leads) printLeads(set.name, chosen, (own) => directly(own, { waited: [], computed: [] }));
    else await (given.again ? timeAgain(set, chosen) : scoreSet(set, chosen));
  }
}

await main();
