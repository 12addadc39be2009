/** Quantiles of one point of a forecast [data-processing §6.2]: the requested ones, not crossing, the median in place. */
import type { ForecastPoint } from '../../api/processing.ts';
import { type Rejection, rejection } from '../validate/rejection.ts';

/** Exactly the requested probabilities; values do not fall as the probability rises. */
export function checkQuantiles(point: ForecastPoint, asked: readonly number[], path: string): Rejection | null {
  const quantiles = point.quantiles ?? [];
  const equal =
    quantiles.length === asked.length && quantiles.every((each, index) => each.probability === asked[index]);
  if (!equal) return rejection('quantiles', `${path}/quantiles`);
  const crossed = quantiles.findIndex((each, index) => {
    const before = quantiles[index - 1];
    return before !== undefined && each.value < before.value;
  });
  return crossed < 0 ? null : rejection('quantile_order', `${path}/quantiles/${crossed}/value`);
}

/** The median equals the value where the task requires it. */
export function checkMedian(point: ForecastPoint, medianEqualsValue: boolean, path: string): Rejection | null {
  const median = point.quantiles?.find((each) => each.probability === 0.5);
  if (!medianEqualsValue || median === undefined || median.value === point.value) return null;
  return rejection('median', `${path}/quantiles`);
}
