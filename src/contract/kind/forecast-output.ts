/** The eight lines of [data-processing §6.2], and the task's own bounds: does the output answer what was asked? */
import type { ForecastOptions, ForecastOutput, ForecastPoint } from '../../api/processing.ts';
import { formatTimestamp } from '../../base/timestamp.ts';
import type { TaskDeclaration } from '../task/declaration.ts';
import { type Rejection, rejection } from '../validate/rejection.ts';
import { timeMs } from '../wire/normal-times.ts';
import { checkMedian, checkQuantiles } from './quantiles.ts';

export interface ForecastQuestion {
  readonly task: TaskDeclaration;
  readonly asOf: string;
  readonly options: ForecastOptions;
}

/** Null when every check passes. */
export function checkForecastOutput(output: ForecastOutput, question: ForecastQuestion): Rejection | null {
  return checkMeaning(output, question.task) ?? checkHorizon(output, question) ?? checkPoints(output, question);
}

/** Line 1, and the cadence of line 2: what the numbers mean. */
function checkMeaning(output: ForecastOutput, task: TaskDeclaration): Rejection | null {
  if (output.target !== task.target.name) return rejection('target', '/output/target');
  if (output.unit !== task.output.unit) return rejection('unit', '/output/unit');
  if (output.sign_convention !== task.output.sign_convention)
    return rejection('sign_convention', '/output/sign_convention');
  if (output.cadence_seconds !== task.frame.cadence_seconds) return rejection('cadence', '/output/cadence_seconds');
  return null;
}

/** Lines 2, 3 and 4: exactly the requested labels, in order. */
function checkHorizon(output: ForecastOutput, { asOf, options, task }: ForecastQuestion): Rejection | null {
  if (output.points.length !== options.horizon_steps) return rejection('horizon', '/output/points');
  const asOfMs = timeMs(asOf);
  const cadenceMs = task.frame.cadence_seconds * 1000;
  const expected = (index: number): string => formatTimestamp(asOfMs + (index + 1) * cadenceMs);
  const off = output.points.findIndex((point, index) => point.timestamp !== expected(index));
  return off < 0 ? null : rejection('timestamps', `/output/points/${off}/timestamp`);
}

/** Lines 5 to 8 (the shape already requires finite values), then the range of the task. */
function checkPoints(output: ForecastOutput, { options, task }: ForecastQuestion): Rejection | null {
  for (const [index, point] of output.points.entries()) {
    const path = `/output/points/${index}`;
    const rejected =
      checkQuantiles(point, options.quantiles ?? [], path) ??
      checkMedian(point, task.output.median_equals_value, path) ??
      checkRange(point, task.output, path);
    if (rejected !== null) return rejected;
  }
  return null;
}

/** For a fallback [data-processing §6.3]. A forecast may be zero throughout, as at night. */
export function checkBaseline(output: ForecastOutput, { output: declared }: TaskDeclaration): Rejection | null {
  const zero = output.points.every((point) => point.value === 0);
  return zero && !declared.zero_is_baseline ? rejection('zero_series', '/output/points') : null;
}

function checkRange(
  point: ForecastPoint,
  { minimum, maximum }: TaskDeclaration['output'],
  path: string,
): Rejection | null {
  const outside = (value: number): boolean =>
    (minimum !== null && value < minimum) || (maximum !== null && value > maximum);
  if (outside(point.value)) return rejection('output_range', `${path}/value`);
  const at = (point.quantiles ?? []).findIndex((each) => outside(each.value));
  return at < 0 ? null : rejection('output_range', `${path}/quantiles/${at}/value`);
}
