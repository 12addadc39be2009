/** The models of a single series without weather: a list, each of which may decline a history that is too short for it. */
import { autoregress } from './autoregression.ts';
import { direct } from './direct.ts';
import { profileAndMemory, repeatSeason, weeksOnLevel } from './profiles.ts';
import { smooth } from './smoothing.ts';

export interface SeriesModel {
  readonly name: string;
  readonly scale: 'raw' | 'log';
  /** Null when the history is too short for it. */
  forecast(history: Float64Array, horizon: number, day: number): Float64Array | null;
}

type Rule = SeriesModel['forecast'];

/** Lags of the newest hours, of whole days and their neighbours, and of a week. */
function lagsOf(day: number): number[] {
  const near = [1, 2, 3, 4, 5, 6, day / 2, day - 1, day, day + 1, day + 2];
  const days = [2 * day - 1, 2 * day, 2 * day + 1, 3 * day, 4 * day, 5 * day];
  const week = [6 * day - 1, 6 * day, 6 * day + 1, 7 * day - 1, 7 * day, 7 * day + 1];
  return [...new Set([...near, ...days, ...week])].filter((lag) => Number.isInteger(lag) && lag > 0);
}

/** Fewer lags for a series that was differenced at a week: the remainder has a short memory. */
function weeklyLagsOf(day: number): number[] {
  const days = [day - 1, day, day + 1, 2 * day, 3 * day, 4 * day, 5 * day, 6 * day];
  return [...new Set([1, 2, 3, 4, 5, 6, day / 2, ...days, 7 * day - 1, 7 * day, 7 * day + 1])].filter(Number.isInteger);
}

const robust = 3;

const memory: Rule = (history, horizon, day) =>
  autoregress(history, horizon, { lags: lagsOf(day), difference: 0, penalty: 0.0005, rounds: robust });
const dailyMemory: Rule = (history, horizon, day) =>
  autoregress(history, horizon, { lags: lagsOf(day), difference: day, penalty: 0.0005, rounds: robust });
const weeklyMemory: Rule = (history, horizon, day) =>
  autoregress(history, horizon, { lags: weeklyLagsOf(day), difference: 7 * day, penalty: 0.001, rounds: 1 });
const doubleSmoothing: Rule = (history, horizon, day) => smooth(history, horizon, { day, week: 7 * day, trend: false });

export const seriesModels: readonly SeriesModel[] = [
  { name: 'day-before', scale: 'raw', forecast: (history, horizon, day) => repeatSeason(history, horizon, day) },
  { name: 'week-before', scale: 'raw', forecast: (history, horizon, day) => repeatSeason(history, horizon, 7 * day) },
  { name: 'memory', scale: 'raw', forecast: memory },
  { name: 'memory-log', scale: 'log', forecast: memory },
  { name: 'daily-memory', scale: 'raw', forecast: dailyMemory },
  { name: 'daily-memory-log', scale: 'log', forecast: dailyMemory },
  { name: 'weekly-memory', scale: 'raw', forecast: weeklyMemory },
  { name: 'weekly-memory-log', scale: 'log', forecast: weeklyMemory },
  { name: 'smoothing', scale: 'raw', forecast: doubleSmoothing },
  { name: 'smoothing-log', scale: 'log', forecast: doubleSmoothing },
  {
    name: 'daily-smoothing-log',
    scale: 'log',
    forecast: (history, horizon, day) => smooth(history, horizon, { day, week: 0, trend: false }),
  },
  {
    name: 'daily-smoothing-trend',
    scale: 'raw',
    forecast: (history, horizon, day) => smooth(history, horizon, { day, week: 0, trend: true }),
  },
  {
    name: 'weeks-on-level-log',
    scale: 'log',
    forecast: (history, horizon, day) => weeksOnLevel(history, horizon, day, 4),
  },
  { name: 'direct-log', scale: 'log', forecast: direct },
  { name: 'profile-and-memory-log', scale: 'log', forecast: profileAndMemory },
];
