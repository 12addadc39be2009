/** The rules for fallbacks [data-processing §6.3]: allowed by name, labelled, and recomputed from the frame. */
import type { FallbackResult, NormalisedFrame, ProcessingResult } from '../../api/processing.ts';
import { type FallbackForecast, fallbackForecast } from '../kind/fallback.ts';
import type { FallbackPolicy, TaskDeclaration } from '../task/declaration.ts';
import { type Rejection, rejection } from './rejection.ts';

/** Averages differ in the last digits with the order of addition; copies of a value do not. */
const averageTolerance = 1e-9;
/** A warning that only a fallback may carry. */
const fallbackWarning = 'MODEL_FALLBACK_USED';

/** The task's policy for the strategy that the result names, or null when the task does not allow it. */
export function policyFor(result: FallbackResult, task: TaskDeclaration): FallbackPolicy | null {
  const { strategy, strategy_version: version } = result.fallback;
  return task.fallbacks.find((policy) => policy.strategy === strategy && policy.version === version) ?? null;
}

export function checkFallback(
  result: FallbackResult,
  policy: FallbackPolicy,
  frame: NormalisedFrame,
  timezone: string,
): Rejection | null {
  const { fallback, output } = result;
  if (fallback.source_feature !== policy.source_feature)
    return rejection('fallback_source', '/fallback/source_feature');
  const own = fallbackForecast(policy, frame, timezone, output.points.length);
  if (own === null) return rejection('fallback_values', '/fallback/strategy');
  if (fallback.based_on_data_through !== own.basedOnDataThrough)
    return rejection('fallback_source', '/fallback/based_on_data_through');
  return checkValues(result, own, policy.strategy === 'historical-average' ? averageTolerance : 0);
}

/** Every point equals what the frame gives; every requested probability repeats the point's value. */
function checkValues(result: FallbackResult, own: FallbackForecast, tolerance: number): Rejection | null {
  for (const [index, point] of result.output.points.entries()) {
    const expected = own.values[index];
    const path = `/output/points/${index}`;
    if (expected === undefined || Math.abs(point.value - expected) > tolerance * Math.abs(expected))
      return rejection('fallback_values', `${path}/value`);
    const at = (point.quantiles ?? []).findIndex((each) => each.value !== point.value);
    if (at >= 0) return rejection('fallback_values', `${path}/quantiles/${at}/value`);
  }
  return null;
}

/** A processor cannot pass a fallback off as a forecast: `produced` never carries the warning that a fallback was used. */
export function checkPromotion(result: ProcessingResult): Rejection | null {
  if (result.status !== 'produced') return null;
  const at = result.warnings.indexOf(fallbackWarning);
  return at < 0 ? null : rejection('promoted_fallback', `/warnings/${at}`);
}
