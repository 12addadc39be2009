/**
 * An accepted frame as a sample for the models, with its anomalies [data-processing §3.1]: stable codes that a site can count.
 * A missing cell is NaN from here on, never 0.
 */
import type { Segment, Series } from '../../api/processing.ts';
import type { CalendarTransformName } from '../../contract/calendar.ts';
import type { TaskDeclaration, TaskInput } from '../../contract/task/declaration.ts';
import { timeMs } from '../../contract/wire/normal-times.ts';
import type { AcceptedRequest } from '../../processor-kit/check-request.ts';
import type { Covariate, Sample } from '../sample.ts';

export interface FrameReading {
  readonly sample: Sample;
  readonly warnings: readonly string[];
}

export function readFrame({ request, declaration }: AcceptedRequest): FrameReading {
  const { frame, options } = request;
  const cadenceMs = declaration.frame.cadence_seconds * 1000;
  const count = frame.history.timestamps.length;
  const target = column(frame.history.features[declaration.target.name], count);
  const { covariates, warnings } = readCovariates(declaration, frame.history, frame.future_covariates);
  const unusual = new Set(warnings);
  if (target.some(Number.isNaN)) unusual.add('HISTORY_CELLS_MISSING');
  if (Number.isNaN(target.at(-1))) unusual.add('NEWEST_VALUE_MISSING');
  if (frame.quality.substituted_samples > 0) unusual.add('CELLS_SUBSTITUTED');
  if (covariates.some(({ values }) => values.some(Number.isNaN))) unusual.add('COVARIATE_CELLS_MISSING');
  if (covariates.some(({ values }) => reachesBeyond(values, count))) unusual.add('COVARIATE_BEYOND_HISTORY');
  return {
    sample: {
      startMs: timeMs(frame.as_of) - (count - 1) * cadenceMs,
      cadenceMs,
      count,
      horizon: options.horizon_steps,
      target,
      covariates,
      timeZone: declaration.frame.timezone,
    },
    warnings: [...unusual],
  };
}

/** The features declared as known ahead that have a history to learn from. */
function readCovariates(
  { inputs, target }: TaskDeclaration,
  history: Segment,
  future: Segment | undefined,
): { readonly covariates: readonly Covariate[]; readonly warnings: readonly string[] } {
  const covariates: Covariate[] = [];
  const warnings: string[] = [];
  for (const input of inputs.future_covariates) {
    const before = history.features[input.name];
    const after = future?.features[input.name];
    if (input.name === target.name || isOwnCalendar(input)) continue;
    if (before === undefined || after === undefined || before.value_type === 'string') {
      warnings.push('COVARIATE_IGNORED');
      continue;
    }
    const count = history.timestamps.length;
    const values = new Float64Array(count + after.values.length);
    values.set(column(before, count));
    values.set(column(after, after.values.length), count);
    // Without a history there is nothing to learn from; covariates unknown over the horizon are found later.
    if (hasNumber(values.subarray(0, count))) covariates.push({ name: input.name, values });
    else warnings.push('COVARIATE_IGNORED');
  }
  return { covariates, warnings };
}

/**
 * Hours, weekdays, months and the turn of the year add nothing to the finer calendar columns that the forecaster makes in the task's time
 * zone whether or not a task declares them.
 */
const ownCalendar: ReadonlySet<string> = new Set<CalendarTransformName>([
  'quarter_hour_of_day_zero_based',
  'hour_of_day',
  'day_of_week',
  'month_of_year',
  'is_weekend',
  'day_of_year_sin',
  'day_of_year_cos',
]);

function isOwnCalendar({ source }: TaskInput): boolean {
  return source.kind === 'calendar' && ownCalendar.has(source.transform);
}

/** Observed values only: a filled cell counts as missing, so that it is not learned as real. */
function column(series: Series | undefined, count: number): Float64Array {
  const values = new Float64Array(count).fill(Number.NaN);
  for (const [index, value] of (series?.values ?? []).entries())
    if (typeof value !== 'string' && value !== null && series?.quality[index] !== 'substituted')
      values[index] = Number(value);
  return values;
}

function hasNumber(values: Float64Array): boolean {
  return values.some((value) => !Number.isNaN(value));
}

/** Share of its range in the history by which a covariate may leave that range without a warning. */
const beyondShareMax = 0.1;

function reachesBeyond(values: Float64Array, count: number): boolean {
  const [low, high] = rangeOf(values.subarray(0, count));
  const [least, most] = rangeOf(values.subarray(count));
  const room = (high - low) * beyondShareMax;
  return least < low - room || most > high + room;
}

function rangeOf(values: Float64Array): [low: number, high: number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
