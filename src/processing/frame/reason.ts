/** Why a frame was refused, by the names of [data-processing §5.4]: rule, feature and figures, for diagnosis. */
import { Fault } from '../../base/fault.ts';

export type ReasonRule =
  | 'history_unavailable'
  | 'covariate_unavailable'
  | 'max_gap_seconds'
  | 'max_missing_ratio'
  | 'max_input_age_seconds'
  | 'max_issue_age_seconds'
  | 'issue_time'
  | 'range'
  | 'duplicate_sample'
  | 'clock_skew'
  | 'not_settled';

export type SegmentName = 'history' | 'future_covariates';

export interface Reason {
  readonly rule: ReasonRule;
  /** Null for a rule about the whole frame. */
  readonly segment: SegmentName | null;
  readonly feature: string | null;
  /** In the unit of the rule's name; an instant as a timestamp. Null without a figure. */
  readonly observed: number | string | null;
  readonly limit: number | string | null;
  readonly first_label?: string;
  readonly last_label?: string;
}

/** The 422 with every violated rule. */
export function qualityRefusal(reasons: readonly Reason[]): Fault {
  const rules = [...new Set(reasons.map((reason) => reason.rule))].join(', ');
  return new Fault('input-quality-rejected', `the input does not meet the task's policy: ${rules}`, {
    details: { reasons },
  });
}

/** A refusal in one line, the same for calls that failed alike: for `qualityRefusal` its rules and features, without the figures. */
export function refusalLine({ code, message, details }: Fault): string {
  const reasons = (details?.['reasons'] ?? []) as readonly Reason[];
  const violated = reasons.map(({ rule, feature }) => (feature === null ? rule : `${rule} of ${feature}`));
  return `${code}: ${violated.length === 0 ? message : [...new Set(violated)].join(', ')}`;
}
