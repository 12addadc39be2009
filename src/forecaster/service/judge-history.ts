/**
 * Whether a history is enough to forecast from [data-processing §6.3]: if not, the answer is a named fallback or unavailable,
 * never a guess that looks like a forecast.
 */

import { dayMs } from '../../base/timestamp.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import type { Sample } from '../sample.ts';
import { historyDaysComfortable, historyDaysMin, knownShareMin, outlierWidths, silentDaysMax } from './limits.ts';

export type HistoryVerdict =
  | { readonly enough: true; readonly warnings: readonly string[] }
  /** `why` is a warning code. */
  | { readonly enough: false; readonly why: 'HISTORY_TOO_SHORT' | 'HISTORY_TOO_BROKEN' };

export function judgeHistory({ target, cadenceMs, count }: Sample): HistoryVerdict {
  const days = (cells: number): number => (cells * cadenceMs) / dayMs;
  const first = target.findIndex((value) => !Number.isNaN(value));
  const last = target.findLastIndex((value) => !Number.isNaN(value));
  if (first < 0 || days(last + 1 - first) < historyDaysMin) return { enough: false, why: 'HISTORY_TOO_SHORT' };
  const week = Math.min(count, Math.ceil((7 * dayMs) / cadenceMs));
  const broken =
    days(count - 1 - last) > silentDaysMax ||
    knownShare(target.subarray(first)) < knownShareMin ||
    knownShare(target.subarray(count - week)) < knownShareMin;
  if (broken) return { enough: false, why: 'HISTORY_TOO_BROKEN' };
  const warnings: string[] = [];
  if (days(last + 1 - first) < historyDaysComfortable) warnings.push('HISTORY_SHORT');
  if (isConstant(target)) warnings.push('HISTORY_CONSTANT');
  else if (hasOutliers(target)) warnings.push('HISTORY_OUTLIERS');
  return { enough: true, warnings };
}

/** Whether no frame of the task is ever long enough. */
export function isTooShort({ frame }: TaskDeclaration): boolean {
  return frame.history_steps * frame.cadence_seconds * 1000 < historyDaysMin * dayMs;
}

function knownShare(values: Float64Array): number {
  let known = 0;
  for (const value of values) if (!Number.isNaN(value)) known++;
  return known / values.length;
}

function isConstant(values: Float64Array): boolean {
  const one = values.find((value) => !Number.isNaN(value));
  return values.every((value) => Number.isNaN(value) || value === one);
}

function hasOutliers(values: Float64Array): boolean {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
  const width = at(0.99) - at(0.01);
  // Almost always one value: the quantiles do not say what is an outlier.
  if (width === 0) return false;
  return at(0) < at(0.01) - outlierWidths * width || at(1) > at(0.99) + outlierWidths * width;
}
