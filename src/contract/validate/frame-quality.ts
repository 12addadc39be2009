/** The task's quality policy (step 6 of [processor §4]): ranges, missing cells, gap and ages. A frame that breaks it is refused. */
import type { NormalisedFrame, Segment } from '../../api/processing.ts';
import { inRange, type TaskDeclaration, type TaskInput } from '../task/declaration.ts';
import { step } from '../wire/issue.ts';
import { timeMs } from '../wire/normal-times.ts';
import { type FrameFault, firstFault, unfit } from './frame-fault.ts';

export function checkFrameQuality(frame: NormalisedFrame, task: TaskDeclaration): FrameFault | null {
  const { quality, alignment, inputs } = task;
  return firstFault(
    () => outOfRange(frame.history, inputs.history, '/history'),
    () => outOfRange(frame.future_covariates, inputs.future_covariates, '/future_covariates'),
    () =>
      alignment.missing_policy === 'reject' && frame.quality.missing_ratio > 0
        ? unfit('/quality/missing_ratio', 'missing_policy')
        : null,
    () =>
      frame.quality.missing_ratio > quality.max_missing_ratio
        ? unfit('/quality/missing_ratio', 'max_missing_ratio')
        : null,
    () =>
      frame.quality.max_gap_seconds > quality.max_gap_seconds
        ? unfit('/quality/max_gap_seconds', 'max_gap_seconds')
        : null,
    () => tooOld(frame, task),
  );
}

function outOfRange(segment: Segment | undefined, inputs: readonly TaskInput[], path: string): FrameFault | null {
  for (const { name, range } of inputs) {
    const values = segment?.features[name]?.values ?? [];
    const at = values.findIndex((value) => typeof value === 'number' && !inRange(value, range));
    if (at >= 0) return unfit(`${path}/features${step(name)}/values/${at}`, 'range');
  }
  return null;
}

/** Ages are checked per feature: observations by their watermark, covariate runs by their issue time. */
function tooOld(frame: NormalisedFrame, task: TaskDeclaration): FrameFault | null {
  const asOfMs = timeMs(frame.as_of);
  const ageSeconds = (text: string): number => (asOfMs - timeMs(text)) / 1000;
  const { max_input_age_seconds: maxInput, max_issue_age_seconds: maxIssue } = task.quality;
  for (const [index, entry] of frame.provenance.entries()) {
    const observed = entry.segment === 'history' && entry.source_kind !== 'calendar';
    if (observed && ageSeconds(entry.watermark) > maxInput)
      return unfit(`/provenance/${index}/watermark`, 'max_input_age_seconds');
    if (entry.issued_at !== undefined && maxIssue !== null && ageSeconds(entry.issued_at) > maxIssue)
      return unfit(`/provenance/${index}/issued_at`, 'max_issue_age_seconds');
  }
  return null;
}
