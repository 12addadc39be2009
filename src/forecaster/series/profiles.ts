/** Forecasts from the shape of past weeks: as they were, corrected for level, or as a profile with a short memory. */
import { autoregress } from './autoregression.ts';

/** The value one season before, repeated. */
export function repeatSeason(history: Float64Array, horizon: number, season: number): Float64Array | null {
  if (history.length < season) return null;
  return Float64Array.from({ length: horizon }, (_, step) => history[history.length - season + (step % season)] ?? 0);
}

const weekDecay = 0.7;

/** Past weeks, each less the level of the day before it, moved to the level of the newest day. */
export function weeksOnLevel(history: Float64Array, horizon: number, day: number, weeks: number): Float64Array | null {
  const week = 7 * day;
  if (history.length < 2 * week || horizon > week) return null;
  const level = (end: number): number => {
    let sum = 0;
    for (let cell = end - day; cell < end; cell++) sum += history[cell] as number;
    return sum / day;
  };
  const newest = level(history.length);
  const sums = new Float64Array(horizon);
  let total = 0;
  for (let back = 1; back <= weeks; back++) {
    const from = history.length - back * week;
    if (from < day) break;
    const own = weekDecay ** (back - 1);
    const then = level(from);
    total += own;
    for (let step = 0; step < horizon; step++)
      sums[step] = (sums[step] as number) + own * ((history[from + step] as number) - then);
  }
  return sums.map((sum) => newest + sum / total);
}

/** Prior weight in weeks: a slot of the week is shrunk to its slot of the day when few weeks are known. */
const doubtWeeks = 0.5;

/** The mean week around a moving weekly level, and a short autoregression of the residuals. */
export function profileAndMemory(history: Float64Array, horizon: number, day: number): Float64Array | null {
  const week = 7 * day;
  if (history.length < 2 * week) return null;
  const profile = weekProfile(history, day);
  const rest = history.map((value, cell) => value - (profile[cell % week] as number));
  const shape = { lags: [1, 2, day], difference: 0, penalty: 0.001, rounds: 1 };
  const forecast = autoregress(rest, horizon, shape);
  if (forecast === null) return null;
  return forecast.map((value, step) => value + (profile[(history.length + step) % week] as number));
}

function weekProfile(history: Float64Array, day: number): Float64Array {
  const week = 7 * day;
  const sums = new Float64Array(history.length + 1);
  for (let cell = 0; cell < history.length; cell++) sums[cell + 1] = (sums[cell] as number) + (history[cell] as number);
  const around = history.map((value, cell) => {
    const from = Math.max(0, cell - week / 2);
    const to = Math.min(history.length, cell + week / 2);
    return value - ((sums[to] as number) - (sums[from] as number)) / (to - from);
  });
  const ofDay = new Float64Array(day);
  const ofWeek = new Float64Array(week);
  const dayCounts = new Float64Array(day);
  const weekCounts = new Float64Array(week);
  for (let cell = 0; cell < around.length; cell++) {
    ofDay[cell % day] = (ofDay[cell % day] as number) + (around[cell] as number);
    dayCounts[cell % day] = (dayCounts[cell % day] as number) + 1;
  }
  for (let slot = 0; slot < day; slot++) ofDay[slot] = (ofDay[slot] as number) / (dayCounts[slot] as number);
  for (let cell = 0; cell < around.length; cell++) {
    const own = (around[cell] as number) - (ofDay[cell % day] as number);
    ofWeek[cell % week] = (ofWeek[cell % week] as number) + own;
    weekCounts[cell % week] = (weekCounts[cell % week] as number) + 1;
  }
  return ofWeek.map((sum, slot) => sum / ((weekCounts[slot] as number) + doubtWeeks) + (ofDay[slot % day] as number));
}
