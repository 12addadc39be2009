/** Reads the forecasting data sets of `score.ts` and cuts them into samples, one per origin. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SeededStream } from '../../src/base/seeded.ts';
import { dayMs } from '../../src/base/timestamp.ts';
import type { Sample } from '../../src/forecaster/sample.ts';

/** One forecast and its actuals. */
export interface ScoreCase {
  readonly series: string;
  readonly origin: string;
  readonly sample: Sample;
  readonly actual: Float64Array;
  readonly minimum: number | undefined;
  readonly quantiles: readonly number[];
}

/** `scored` origins are those of the protocol; models may be chosen on `earlier` ones. */
type OriginChoice = 'scored' | 'earlier';

type Row = Readonly<Record<string, string>>;

function readRows(folder: string, file: string): Row[] {
  const text = gunzipSync(readFileSync(join(folder, file))).toString('utf8');
  const [head = '', ...lines] = text.trimEnd().split('\n');
  const names = head.trimEnd().split(',');
  return lines.map((line) => {
    const cells = line.trimEnd().split(',');
    return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']));
  });
}

const number = (cell: string | undefined): number => (cell === undefined || cell === '' ? Number.NaN : Number(cell));

interface Grid {
  readonly startMs: number;
  readonly cadenceMs: number;
  readonly columns: ReadonlyMap<string, Float64Array>;
  readonly length: number;
}

function gridOf(rows: readonly Row[], cadenceMs: number, names: readonly string[]): Grid {
  const times = rows.map((row) => Date.parse(row['timestamp'] ?? ''));
  const startMs = times[0] ?? 0;
  const length = ((times.at(-1) ?? startMs) - startMs) / cadenceMs + 1;
  const columns = new Map(names.map((name) => [name, new Float64Array(length).fill(Number.NaN)]));
  for (const [index, row] of rows.entries()) {
    const place = ((times[index] ?? 0) - startMs) / cadenceMs;
    for (const [name, column] of columns) column[place] = number(row[name]);
  }
  return { startMs, cadenceMs, columns, length };
}

interface CutPlan {
  readonly series: string;
  readonly target: string;
  readonly covariates: readonly string[];
  readonly historyDays: number;
  readonly horizonCells: number;
  readonly timeZone: string;
  readonly minimum: number | undefined;
  readonly quantiles: readonly number[];
}

function cut(grid: Grid, originMs: number, plan: CutPlan): ScoreCase | undefined {
  const origin = (originMs - grid.startMs) / grid.cadenceMs;
  const wanted = Math.round((plan.historyDays * dayMs) / grid.cadenceMs);
  const first = Math.max(0, origin - wanted + 1);
  const count = origin - first + 1;
  const horizon = plan.horizonCells;
  if (origin < 0 || origin + horizon >= grid.length + 1 || origin + 1 + horizon > grid.length) return undefined;
  const target = grid.columns.get(plan.target);
  if (target === undefined) throw new Error(`no column ${plan.target}`);
  return {
    series: plan.series,
    origin: new Date(originMs).toISOString(),
    sample: {
      startMs: grid.startMs + first * grid.cadenceMs,
      cadenceMs: grid.cadenceMs,
      count,
      horizon,
      target: target.slice(first, origin + 1),
      covariates: plan.covariates.map((name) => ({
        name,
        values: (grid.columns.get(name) ?? new Float64Array(0)).slice(first, origin + 1 + horizon),
      })),
      timeZone: plan.timeZone,
    },
    actual: target.slice(origin + 1, origin + 1 + horizon),
    minimum: plan.minimum,
    quantiles: plan.quantiles,
  };
}

function originsOf(from: string, to: string, stepDays: number): number[] {
  const origins: number[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += stepDays * dayMs) origins.push(at);
  return origins;
}

const tenths = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
const hundredths = Array.from({ length: 99 }, (_, index) => (index + 1) / 100);

export interface ScoreSet {
  readonly name: string;
  read(folder: string, origins: OriginChoice): ScoreCase[];
}

const loadWeather = [
  'temp_c',
  'radiation_j_m2_h',
  'clouds_pct',
  'windspeed_ms',
  'windspeed_100m_ms',
  'humidity',
  'pressure_pa',
  'rain',
  'clearsky_dlf',
];

function bySeries(rows: readonly Row[], key: string): Map<string, Row[]> {
  return Map.groupBy(rows, (row) => row[key] ?? '');
}

function daily(rows: readonly Row[], cadenceMs: number, plan: CutPlan, origins: readonly number[]): ScoreCase[] {
  const grid = gridOf(rows, cadenceMs, [plan.target, ...plan.covariates]);
  return origins.flatMap((origin) => cut(grid, origin, plan) ?? []);
}

function readLoad(folder: string, choice: OriginChoice): ScoreCase[] {
  const origins =
    choice === 'scored'
      ? originsOf('2020-12-01T00:00:00Z', '2020-12-30T00:00:00Z', 1)
      : originsOf('2020-11-10T00:00:00Z', '2020-11-29T00:00:00Z', 1);
  const rows = readRows(folder, 'openstef_load_15min_dev.csv.gz');
  const plan = { ...dayAhead, timeZone: 'Europe/Amsterdam' };
  return [...bySeries(rows, 'series')].flatMap(([series, own]) =>
    daily(own, 900_000, { ...plan, series, target: 'load_mw', covariates: loadWeather }, origins),
  );
}

const dayAhead = {
  historyDays: 56,
  horizonCells: 96,
  timeZone: 'UTC',
  minimum: undefined,
  quantiles: tenths,
} as const;

function readPv(folder: string, choice: OriginChoice): ScoreCase[] {
  const origins =
    choice === 'scored'
      ? originsOf('2021-09-11T00:00:00Z', '2021-10-09T00:00:00Z', 1)
      : originsOf('2021-08-28T00:00:00Z', '2021-09-09T00:00:00Z', 1);
  const rows = readRows(folder, 'openstef_pv_15min_dev.csv.gz');
  const plan = { ...dayAhead, historyDays: 42, minimum: 0, target: 'pv_mw', timeZone: 'Europe/Amsterdam' };
  const covariates = ['radiation_j_m2_h', 'windspeed_100m_ms'];
  return [...bySeries(rows, 'site')].flatMap(([series, own]) =>
    daily(own, 900_000, { ...plan, series, covariates }, origins),
  );
}

function readSteel(folder: string, choice: OriginChoice): ScoreCase[] {
  const origins =
    choice === 'scored'
      ? originsOf('2018-07-01T00:00:00Z', '2018-09-29T00:00:00Z', 3)
      : originsOf('2018-03-01T00:00:00Z', '2018-06-28T00:00:00Z', 3);
  const rows = readRows(folder, 'steel_site_15min_dev.csv.gz');
  const plan = { ...dayAhead, series: 'steel', target: 'energy_kwh_per_15min', covariates: [] };
  return daily(rows, 900_000, plan, origins);
}

function readVictoria(folder: string, choice: OriginChoice): ScoreCase[] {
  const origins =
    choice === 'scored'
      ? originsOf('2014-01-01T14:00:00Z', '2014-06-28T14:00:00Z', 3)
      : originsOf('2013-01-02T14:00:00Z', '2013-12-28T14:00:00Z', 6);
  const rows = readRows(folder, 'vic_load_30min_dev.csv.gz');
  const covariates = ['temperature_c', 'holiday'];
  const place = { series: 'vic', timeZone: 'Australia/Melbourne' };
  const plan = { ...dayAhead, ...place, horizonCells: 48, target: 'demand_mw', covariates };
  return daily(rows, 1_800_000, plan, origins);
}

const gefcomWeather = ['tclw_kg_m2', 'tciw_kg_m2', 'sp_pa', 'rh_pct', 'tcc', 'u10_ms', 'v10_ms', 't2m_k'];
const gefcomAccumulated = ['ssrd_acc_j_m2', 'strd_acc_j_m2', 'tsr_acc_j_m2', 'tp_acc_m'];

/** Accumulations restart each day at 01:00: the first hour of a day is a value, every other one a difference. */
function hourly(grid: Grid): Grid {
  const columns = new Map(grid.columns);
  for (const name of gefcomAccumulated) {
    const summed = grid.columns.get(name) ?? new Float64Array(0);
    const own = summed.map((value, place) => {
      const hour = ((grid.startMs + place * grid.cadenceMs) / 3_600_000) % 24;
      return hour === 1 ? value : value - (summed[place - 1] ?? Number.NaN);
    });
    columns.set(name.replace('_acc', ''), own);
  }
  return { ...grid, columns };
}

function readGefcom(folder: string, choice: OriginChoice): ScoreCase[] {
  const months = choice === 'scored' ? [7, 8, 9, 10, 11, 12] : [4, 5, 6];
  const rows = readRows(folder, 'gefcom2014_solar_hourly_dev.csv.gz');
  const covariates = [...gefcomWeather, ...gefcomAccumulated.map((name) => name.replace('_acc', ''))];
  return [...bySeries(rows, 'zone')].flatMap(([zone, own]) => {
    const grid = hourly(gridOf(own, 3_600_000, ['power', ...gefcomWeather, ...gefcomAccumulated]));
    return months.flatMap((month) => {
      const originMs = Date.UTC(2013, month - 1, 1);
      const horizonCells = (Date.UTC(2013, month, 1) - originMs) / 3_600_000;
      const historyDays = (originMs - grid.startMs) / dayMs + 1 / 24;
      const plan = { series: `zone ${zone}`, target: 'power', covariates, historyDays, horizonCells };
      return cut(grid, originMs, { ...plan, timeZone: 'UTC', minimum: 0, quantiles: hundredths }) ?? [];
    });
  });
}

const mondayMs = Date.UTC(2024, 0, 1, 1);

/** The scored cases forecast the test part; the earlier ones the last 48 values of the train part. */
function readM4(folder: string, choice: OriginChoice): ScoreCase[] {
  return readRows(folder, 'm4_hourly_dev200.csv.gz').map((row) => {
    const train = Float64Array.from((row['train'] ?? '').split(' '), Number);
    const test = Float64Array.from((row['test'] ?? '').split(' '), Number);
    const target = choice === 'scored' ? train : train.slice(0, -48);
    const actual = choice === 'scored' ? test : train.slice(-48);
    const count = target.length;
    const sample = { startMs: mondayMs, cadenceMs: 3_600_000, count, horizon: 48, target, covariates: [] };
    const originMs = mondayMs + (count - 1) * 3_600_000;
    return {
      series: row['id'] ?? '',
      origin: new Date(originMs).toISOString(),
      sample: { ...sample, timeZone: 'UTC' },
      actual,
      minimum: undefined,
      quantiles: tenths,
    };
  });
}

export const scoreSets: readonly ScoreSet[] = [
  { name: 'm4', read: readM4 },
  { name: 'gefcom', read: readGefcom },
  { name: 'load', read: readLoad },
  { name: 'steel', read: readSteel },
  { name: 'victoria', read: readVictoria },
  { name: 'pv', read: readPv },
];

/** The same case with `share` of its history removed, the same cells of the target and the covariates on every run. */
export function withoutCells(own: ScoreCase, share: number, seed: number): ScoreCase {
  if (share === 0) return own;
  const stream = new SeededStream(seed + 1);
  const { sample } = own;
  const thin = (values: Float64Array): Float64Array =>
    values.map((value, cell) => (cell < sample.count && stream.next() < share ? Number.NaN : value));
  const covariates = sample.covariates.map(({ name, values }) => ({ name, values: thin(values) }));
  return { ...own, sample: { ...sample, target: thin(sample.target), covariates } };
}

/** Origins are near midnight in some zone; these are well inside a day in every zone. */
const hoursBeforeMax = 6;

/** The request `hours` (at most 6) before the origin, always with a history six hours shorter. */
export function hoursBefore(own: ScoreCase, hours: number): ScoreCase {
  const { sample } = own;
  const perHour = Math.round(3_600_000 / sample.cadenceMs);
  const count = sample.count - hoursBeforeMax * perHour;
  const first = (hoursBeforeMax - hours) * perHour;
  const covariates = sample.covariates.map(({ name, values }) => ({
    name,
    values: values.slice(first, first + count + sample.horizon),
  }));
  const startMs = sample.startMs + first * sample.cadenceMs;
  const target = sample.target.slice(first, first + count);
  return { ...own, sample: { ...sample, startMs, count, target, covariates } };
}
