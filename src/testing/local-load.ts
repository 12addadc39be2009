/** Noise-free loads that follow the local clock: how a forecast handles them across clock changes [data-processing §6.3]. */
import { forecastSample } from '../forecaster/forecast.ts';
import type { Sample } from '../forecaster/sample.ts';
import { hourOfDay, localMs, weekdayOf } from '../site/local-time.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** A profile by local hour: a morning and an evening peak on working days, one hump on other days. */
function profile(atMs: number, timeZone: string): number {
  const local = localMs(atMs, timeZone);
  const hour = hourOfDay(local);
  const peak = (at: number): number => Math.exp(-((hour - at) ** 2) / 3);
  return weekdayOf(local) >= 6 ? 40 + 30 * peak(11) : 50 + 60 * peak(8) + 40 * peak(18.5);
}

export interface LocalLoad {
  readonly timeZone: string;
  readonly cadenceMs: number;
  readonly path: 'series' | 'regression';
}

/** Mean absolute error of the day ahead that begins at `originMs`. */
function errorOf({ timeZone, cadenceMs, path }: LocalLoad, originMs: number): number {
  const perDay = dayMs / cadenceMs;
  const count = 42 * perDay;
  const startMs = originMs - (count - 1) * cadenceMs;
  const at = (cell: number): number => startMs + (cell - 0.5) * cadenceMs;
  const all = Array.from({ length: count + perDay }, (_, cell) => profile(at(cell), timeZone));
  // A constant covariate selects the regression path.
  const covariate = { name: 'temperature', values: Float64Array.from(all, (_, cell) => 10 + ((cell * 7919) % 13)) };
  const sample: Sample = {
    startMs,
    cadenceMs,
    count,
    horizon: perDay,
    target: Float64Array.from(all.slice(0, count)),
    covariates: path === 'regression' ? [covariate] : [],
    timeZone,
  };
  const { value } = forecastSample(sample, { minimum: undefined, probabilities: Float64Array.of() });
  return value.reduce((sum, one, step) => sum + Math.abs(one - (all[count + step] as number)), 0) / perDay;
}

/** The first instant after `fromMs` at which the offset of the zone has changed, to the quarter hour. */
function changeAfter(timeZone: string, fromMs: number): number {
  const offset = (ms: number): number => localMs(ms, timeZone) - ms;
  for (let ms = fromMs; ms < fromMs + 366 * dayMs; ms += 900_000)
    if (offset(ms + 900_000) !== offset(ms)) return ms + 900_000;
  throw new Error('this zone does not change its clocks');
}

/** Days from a clock change, whose errors are compared. */
export interface DaysAround {
  readonly before: readonly number[];
  readonly after: readonly number[];
}
export const weekAround: DaysAround = { before: [-8, -5, -2], after: [0, 1, 2, 7] };

/** Mean errors around both clock changes of 2026. */
export function errorsAround(
  { timeZone, ...way }: LocalLoad,
  { before, after }: DaysAround,
): readonly { readonly before: number; readonly after: number }[] {
  let changeMs = changeAfter(timeZone, Date.UTC(2026, 0, 1));
  return [0, 1].map(() => {
    const midnightMs = Math.floor(changeMs / dayMs) * dayMs;
    const mean = (days: readonly number[]): number =>
      days.reduce((sum, day) => sum + errorOf({ timeZone, ...way }, midnightMs + day * dayMs), 0) / days.length;
    changeMs = changeAfter(timeZone, changeMs + dayMs);
    return { before: mean(before), after: mean(after) };
  });
}
