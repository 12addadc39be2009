/**
 * The feature columns of a range of cells. Every column of a cell at t reads targets at t − lagDays days or before, so
 * it can be computed for each step of the horizon ([data-processing §3.2]: no future target is ever read).
 */
import type { Ground } from './ground.ts';
import { medianOfFew, WindowMeans } from './statistics.ts';

export interface Design {
  readonly names: readonly string[];
  readonly columns: readonly Float64Array[];
  readonly hours: Float64Array;
  /** Names of the columns that are unchanged covariates. */
  readonly raw: ReadonlySet<string>;
  /** The source of each column: a covariate's name, or one of the two below, which cannot be names of covariates. */
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

/** Sets the source of the columns added since the last call. */
function attribute(sheet: Sheet, origin: string): void {
  while (sheet.origins.length < sheet.names.length) sheet.origins.push(origin);
}

function newColumn(sheet: Sheet, name: string): Float64Array {
  const column = new Float64Array(sheet.count);
  sheet.names.push(name);
  sheet.columns.push(column);
  return column;
}

function add(sheet: Sheet, name: string, value: (cell: number) => number): Float64Array {
  const column = newColumn(sheet, name);
  for (let row = 0; row < sheet.count; row++) column[row] = value(sheet.from + row);
  return column;
}

// The most frequent columns are filled without a call per cell.

/** The values themselves, NaN outside of them. */
function addValues(sheet: Sheet, name: string, values: Float64Array): Float64Array {
  const column = newColumn(sheet, name);
  for (let row = 0; row < sheet.count; row++) column[row] = values[sheet.from + row] ?? Number.NaN;
  return column;
}

/** For each cell, the mean of (cell + after, cell + through]. */
function addMeans(sheet: Sheet, name: string, windows: WindowMeans, after: number, through: number): void {
  const column = newColumn(sheet, name);
  for (let row = 0; row < sheet.count; row++)
    column[row] = windows.mean(sheet.from + row + after, sheet.from + row + through);
}

/** Columns that depend on the hour alone, and repeat every day except where clocks change. */
function addHourly(
  sheet: Sheet,
  name: string,
  { calendar, perDay }: Ground,
  value: (hour: number) => number,
): Float64Array {
  const { hours } = calendar;
  const column = newColumn(sheet, name);
  for (let row = 0; row < sheet.count; row++) {
    const hour = hours[sheet.from + row] ?? 0;
    const isAsBefore = row >= perDay && hours[sheet.from + row - perDay] === hour;
    column[row] = isAsBefore ? (column[row - perDay] as number) : value(hour);
  }
  return column;
}

const weekDays = 7;

/** Longer horizons do not use the newest days: they predict little about the end of the horizon. */
export const lagDaysMax = 14;
/** The columns of a covariate use its values up to this much later. */
export const lookAheadHours = 3;

function addTargetColumns(sheet: Sheet, ground: Ground): void {
  const { filled, perDay, lagDays, dayClass, sample } = ground;
  const at = (cell: number, days: number): number => {
    const value = filled[cell - days * perDay];
    return value === undefined ? Number.NaN : value;
  };
  const lags = Array.from({ length: weekDays }, (_, index) => lagDays + index);
  addWeek(sheet, ground, lags);
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
  addMeans(sheet, 'around_lag', windows, -newest - hour, -newest);
  addMeans(sheet, 'day_mean', windows, -newest - perDay, -newest);
  addMeans(sheet, 'week_level', windows, -newest - weekDays * perDay, -newest);
  attribute(sheet, pastValues);
}

/** Of the known values at the same time of the days `lags` before: median, mean, minimum and maximum. */
function addWeek(sheet: Sheet, { filled, perDay }: Ground, lags: readonly number[]): void {
  const medians = newColumn(sheet, 'week_median');
  const means = newColumn(sheet, 'week_mean');
  const least = newColumn(sheet, 'week_low').fill(Number.POSITIVE_INFINITY);
  const greatest = newColumn(sheet, 'week_high').fill(Number.NEGATIVE_INFINITY);
  const known = new Float64Array(lags.length);
  for (let row = 0; row < sheet.count; row++) {
    let count = 0;
    let sum = 0;
    for (let index = 0; index < lags.length; index++) {
      const value = filled[sheet.from + row - (lags[index] as number) * perDay] ?? Number.NaN;
      if (value !== value) continue;
      known[count++] = value;
      sum += value;
      if (value < (least[row] as number)) least[row] = value;
      if (value > (greatest[row] as number)) greatest[row] = value;
    }
    means[row] = count === 0 ? Number.NaN : sum / count;
    medians[row] = medianOfFew(known, count);
  }
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
    addValues(sheet, name, values);
    addMeans(sheet, `${name}.before`, windows, -4 * hour, -hour);
    addMeans(sheet, `${name}.after`, windows, 0, lookAheadHours * hour);
    addMeans(sheet, `${name}.day`, windows, -perDay, 0);
    if (lagDays <= lagDaysMax) add(sheet, `${name}.change`, (cell) => at(cell) - at(cell - lagDays * perDay));
    attribute(sheet, name);
  }
}

/** Days on each side in which the clearest is sought: the season hardly moves, and one of them is usually clear. */
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

/** Columns for trees: raw values without products, which trees find themselves; `light` are the covariates that mark the nights. */
export function treeDesign(ground: Ground, light: readonly number[], from: number, to: number): Design {
  const sheet = newSheet(from, to);
  if (ground.lagDays <= lagDaysMax) addTargetColumns(sheet, ground);
  addCovariateColumns(sheet, ground);
  addLightColumns(sheet, ground, light);
  addCalendarColumns(sheet, ground, light.length === 0);
  return designOf(sheet, ground);
}

function addCurves(sheet: Sheet, ground: Ground): void {
  const { dayClass } = ground;
  const offOnly = (name: string, curve: Float64Array): void => {
    const column = newColumn(sheet, name);
    for (let row = 0; row < sheet.count; row++)
      column[row] = (dayClass[sheet.from + row] === 0 ? 0 : 1) * (curve[row] as number);
  };
  for (let wave = 1; wave <= 4; wave++) {
    const turn = (hour: number): number => (2 * Math.PI * wave * hour) / 24;
    const sine = addHourly(sheet, `sin_${wave}`, ground, (hour) => Math.sin(turn(hour)));
    const cosine = addHourly(sheet, `cos_${wave}`, ground, (hour) => Math.cos(turn(hour)));
    if (wave > 2) continue;
    offOnly(`off_sin_${wave}`, sine);
    offOnly(`off_cos_${wave}`, cosine);
  }
}

const plainNames =
  /^(lag_1d|lag_2d|lag_7d|week_median|same_kind_4|day_mean|week_level|sin_|cos_|off_|weekday_|day_off|age)/;

/** Indexes of the minimal columns of a linear model: with a short history, more columns only add noise. */
export function plainColumns({ names, raw }: Design): number[] {
  return names.flatMap((name, index) => (plainNames.test(name) || raw.has(name) ? [index] : []));
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

/** The linear columns without past values and age: what is known about a cell without its neighbours. */
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
    const own = addValues(sheet, name, values);
    const squares = newColumn(sheet, `${name}.square`);
    for (let row = 0; row < sheet.count; row++) squares[row] = ((own[row] as number) - middle) ** 2;
    addMeans(sheet, `${name}.around`, windows, -2 * hour, hour);
    addMeans(sheet, `${name}.day`, windows, -perDay, 0);
    attribute(sheet, name);
  }
}
