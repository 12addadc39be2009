/**
 * The feature columns of a range of cells. Every column of a cell at t reads targets at t − lagDays days or before, so
 * it can be computed for each step of the horizon ([data-processing §3.2]: no future target is ever read).
 */
import type { Ground } from './ground.ts';
import { median, WindowMeans } from './statistics.ts';

export interface Design {
  readonly names: readonly string[];
  readonly columns: readonly Float64Array[];
  readonly hours: Float64Array;
  /** Names of the columns that are covariates as they came. */
  readonly raw: ReadonlySet<string>;
  /** The source of each column: a covariate's name, or one of the two below, which no covariate can have. */
  readonly origins: readonly string[];
}

const pastValues = 'past values';
const localCalendar = 'local calendar';

interface Sheet {
  readonly from: number;
  readonly count: number;
  readonly names: string[];
  readonly columns: Float64Array[];
  readonly origins: string[];
}

function newSheet(from: number, to: number): Sheet {
  return { from, count: to - from, names: [], columns: [], origins: [] };
}

/** Says of the columns since the last call what they were made from. */
function attribute(sheet: Sheet, origin: string): void {
  while (sheet.origins.length < sheet.names.length) sheet.origins.push(origin);
}

function add(sheet: Sheet, name: string, value: (cell: number) => number): Float64Array {
  const column = new Float64Array(sheet.count);
  for (let row = 0; row < sheet.count; row++) column[row] = value(sheet.from + row);
  sheet.names.push(name);
  sheet.columns.push(column);
  return column;
}

const weekDays = 7;

/** Longer horizons do not use the newest days: they predict little about its end. */
export const lagDaysMax = 14;

function addTargetColumns(sheet: Sheet, ground: Ground): void {
  const { filled, perDay, lagDays, dayClass, sample } = ground;
  const at = (cell: number, days: number): number => {
    const value = filled[cell - days * perDay];
    return value === undefined ? Number.NaN : value;
  };
  const lags = Array.from({ length: weekDays }, (_, index) => lagDays + index);
  const recent = (cell: number): number[] => lags.map((days) => at(cell, days)).filter((value) => value === value);
  add(sheet, 'week_median', (cell) => median(recent(cell)));
  add(sheet, 'week_mean', (cell) => mean(recent(cell)));
  add(sheet, 'week_low', (cell) => Math.min(...recent(cell)));
  add(sheet, 'week_high', (cell) => Math.max(...recent(cell)));
  for (const days of lags) add(sheet, `lag_${days}d`, (cell) => at(cell, days));
  add(sheet, 'lag_14d', (cell) => (lagDays <= 14 ? at(cell, 14) : Number.NaN));
  const known = sample.count / perDay;
  const sameClass = (cell: number, wanted: number): number => {
    const found: number[] = [];
    for (let days = lagDays; days < known + lagDays && found.length < wanted; days++) {
      const other = cell - days * perDay;
      if (other < 0) break;
      const value = filled[other] as number;
      if (dayClass[other] === dayClass[cell] && value === value) found.push(value);
    }
    return mean(found);
  };
  add(sheet, 'same_kind_1', (cell) => sameClass(cell, 1));
  add(sheet, 'same_kind_4', (cell) => sameClass(cell, 4));
  const windows = new WindowMeans(filled);
  const newest = lagDays * perDay;
  const hour = Math.max(1, Math.round(3_600_000 / sample.cadenceMs));
  add(sheet, 'around_lag', (cell) => windows.mean(cell - newest - hour, cell - newest));
  add(sheet, 'day_mean', (cell) => windows.mean(cell - newest - perDay, cell - newest));
  add(sheet, 'week_level', (cell) => windows.mean(cell - newest - weekDays * perDay, cell - newest));
  attribute(sheet, pastValues);
}

function mean(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return values.length === 0 ? Number.NaN : sum / values.length;
}

function addCovariateColumns(sheet: Sheet, ground: Ground): void {
  const { perDay, lagDays, sample } = ground;
  const hour = Math.max(1, Math.round(3_600_000 / sample.cadenceMs));
  for (const [index, values] of ground.covariates.entries()) {
    const name = ground.names[index] ?? '';
    const at = (cell: number): number => values[cell] ?? Number.NaN;
    const windows = new WindowMeans(values);
    add(sheet, name, at);
    add(sheet, `${name}.before`, (cell) => windows.mean(cell - 4 * hour, cell - hour));
    add(sheet, `${name}.after`, (cell) => windows.mean(cell, cell + 3 * hour));
    add(sheet, `${name}.day`, (cell) => windows.mean(cell - perDay, cell));
    if (lagDays <= lagDaysMax) add(sheet, `${name}.change`, (cell) => at(cell) - at(cell - lagDays * perDay));
    attribute(sheet, name);
  }
}

/** Days to either side in which the clearest is looked for: the season hardly moves, and one of them is clear. */
const clearDays = 10;

/** Drivers of a plant's output by day: the neighbouring hours, and the clear-sky index (light relative to the clearest at that time of day). */
function addLightColumns(sheet: Sheet, ground: Ground, light: readonly number[]): void {
  const { perDay, sample } = ground;
  const hour = Math.max(1, Math.round(3_600_000 / sample.cadenceMs));
  for (const place of light) {
    const values = ground.covariates[place] ?? new Float64Array(0);
    const name = ground.names[place] ?? '';
    const at = (cell: number): number => values[cell] ?? Number.NaN;
    add(sheet, `${name}.hour_before`, (cell) => at(cell - hour));
    add(sheet, `${name}.hour_after`, (cell) => at(cell + hour));
    const clearest = add(sheet, `${name}.clearest`, (cell) => {
      let most = 0;
      for (let days = -clearDays; days <= clearDays; days++) most = Math.max(most, values[cell + days * perDay] || 0);
      return most;
    });
    add(sheet, `${name}.clearness`, (cell) => {
      const most = clearest[cell - sheet.from] as number;
      return most > 0 ? at(cell) / most : Number.NaN;
    });
    attribute(sheet, name);
  }
}

/** A light-driven target has no weekly season. */
function addCalendarColumns(sheet: Sheet, ground: Ground, weekdays: boolean): void {
  const { hours, weekday, yearPart } = ground.calendar;
  add(sheet, 'hour', (cell) => hours[cell] ?? 0);
  if (weekdays) {
    add(sheet, 'weekday', (cell) => weekday[cell] ?? 0);
    add(sheet, 'day_kind', (cell) => ground.dayClass[cell] ?? 0);
  }
  add(sheet, 'year_sin', (cell) => Math.sin(2 * Math.PI * (yearPart[cell] ?? 0)));
  add(sheet, 'year_cos', (cell) => Math.cos(2 * Math.PI * (yearPart[cell] ?? 0)));
  attribute(sheet, localCalendar);
}

/** Columns for trees: raw values, no products, a tree finds those itself; `light` are the covariates that mark the nights. */
export function treeDesign(ground: Ground, light: readonly number[], from: number, to: number): Design {
  const sheet = newSheet(from, to);
  if (ground.lagDays <= lagDaysMax) addTargetColumns(sheet, ground);
  addCovariateColumns(sheet, ground);
  addLightColumns(sheet, ground, light);
  addCalendarColumns(sheet, ground, light.length === 0);
  return designOf(sheet, ground);
}

function addCurves(sheet: Sheet, ground: Ground): void {
  const { hours } = ground.calendar;
  const { dayClass } = ground;
  const weekend = (cell: number): number => (dayClass[cell] === 0 ? 0 : 1);
  for (let wave = 1; wave <= 4; wave++) {
    const turn = (cell: number): number => (2 * Math.PI * wave * (hours[cell] ?? 0)) / 24;
    add(sheet, `sin_${wave}`, (cell) => Math.sin(turn(cell)));
    add(sheet, `cos_${wave}`, (cell) => Math.cos(turn(cell)));
    if (wave > 2) continue;
    add(sheet, `off_sin_${wave}`, (cell) => weekend(cell) * Math.sin(turn(cell)));
    add(sheet, `off_cos_${wave}`, (cell) => weekend(cell) * Math.cos(turn(cell)));
  }
}

const plainNames =
  /^(lag_1d|lag_2d|lag_7d|week_median|same_kind_4|day_mean|week_level|sin_|cos_|off_|weekday_|day_off|age)/;

/** The minimal columns of a linear model: with a short history, more only add noise. */
export function plainPart(design: Design): Design {
  const kept = design.names.flatMap((name, index) => (plainNames.test(name) || design.raw.has(name) ? [index] : []));
  return {
    names: kept.map((index) => design.names[index] ?? ''),
    columns: kept.map((index) => design.columns[index] ?? new Float64Array(0)),
    origins: kept.map((index) => design.origins[index] ?? ''),
    hours: design.hours,
    raw: design.raw,
  };
}

/** Columns for linear models: curves of the day, kinds of day, lags, and covariates with their squares. */
export function linearDesign(ground: Ground, from: number, to: number): Design {
  const sheet = newSheet(from, to);
  const { perDay, lagDays, sample } = ground;
  if (lagDays <= lagDaysMax) addTargetColumns(sheet, ground);
  addKnownColumns(sheet, ground);
  add(sheet, 'age', (cell) => (cell - sample.count) / perDay);
  attribute(sheet, localCalendar);
  for (const [index, values] of ground.covariates.entries()) {
    if (lagDays > lagDaysMax) break;
    const name = ground.names[index] ?? '';
    add(sheet, `${name}.lag`, (cell) => values[cell - lagDays * perDay] ?? Number.NaN);
    attribute(sheet, name);
  }
  return designOf(sheet, ground);
}

/** The linear columns without past values and age: what is known about a cell without having seen its neighbours. */
export function knownDesign(ground: Ground, from: number, to: number): Design {
  const sheet = newSheet(from, to);
  addKnownColumns(sheet, ground);
  return designOf(sheet, ground);
}

function designOf({ from, count, ...rest }: Sheet, { calendar, names: raw }: Ground): Design {
  return { ...rest, hours: calendar.hours.slice(from, from + count), raw: new Set(raw) };
}

function addKnownColumns(sheet: Sheet, ground: Ground): void {
  const { dayClass, calendar, perDay, sample } = ground;
  addCurves(sheet, ground);
  for (let day = 0; day < 7; day++) add(sheet, `weekday_${day}`, (cell) => (calendar.weekday[cell] === day ? 1 : 0));
  add(sheet, 'day_off', (cell) => (dayClass[cell] === 2 ? 1 : 0));
  attribute(sheet, localCalendar);
  const hour = Math.max(1, Math.round(3_600_000 / sample.cadenceMs));
  for (const [index, values] of ground.covariates.entries()) {
    const name = ground.names[index] ?? '';
    const windows = new WindowMeans(values);
    const middle = windows.mean(-1, sample.count - 1);
    const at = (cell: number): number => values[cell] ?? Number.NaN;
    add(sheet, name, at);
    add(sheet, `${name}.square`, (cell) => (at(cell) - middle) ** 2);
    add(sheet, `${name}.around`, (cell) => windows.mean(cell - 2 * hour, cell + hour));
    add(sheet, `${name}.day`, (cell) => windows.mean(cell - perDay, cell));
    attribute(sheet, name);
  }
}
