/**
 * The task's quality policy over an aligned frame [data-processing §4.6], [data-processing §5.4]: every violated rule,
 * with its feature, its figures and its labels.
 */
import type { AlignedFeature } from './align.ts';
import { countMarks, mark } from './cells.ts';
import { type Feature, featureReason, wholeGrid } from './feature.ts';
import type { FramePlan } from './plan.ts';
import { largestGap, missingRatio, missingSpan } from './quality.ts';
import type { Reason } from './reason.ts';

export function brokenRules(plan: FramePlan, features: readonly AlignedFeature[]): Reason[] {
  return [
    ...plan.reasons,
    ...features.flatMap((feature) => [
      ...feature.reasons,
      ...unavailableReasons(plan, feature),
      ...gapReasons(plan, feature),
      ...ageReasons(plan, feature),
    ]),
    ...ratioReasons(plan, features),
  ];
}

const unavailableRule = { history: 'history_unavailable', future_covariates: 'covariate_unavailable' } as const;

/** Without any observation there is no data cut; and under `missing_policy: reject` no cell may be missing. */
function unavailableReasons(plan: FramePlan, feature: AlignedFeature): Reason[] {
  const rule = unavailableRule[feature.segment];
  if (feature.reasons.some((reason) => reason.rule === rule)) return [];
  const missing = countMarks(feature.cells, mark.missing);
  if (feature.watermarkMs === null) return [featureReason(feature, rule, missing, 0, wholeGrid(feature.grid))];
  const span = missingSpan(feature.cells);
  if (span === null || plan.route.task.alignment.missing_policy !== 'reject') return [];
  return [featureReason(feature, rule, missing, 0, span)];
}

function gapReasons(plan: FramePlan, feature: AlignedFeature): Reason[] {
  if (feature.segment !== 'history') return [];
  const { max_gap_seconds: limit } = plan.route.task.quality;
  const gap = largestGap(feature.observed, plan.cadenceSeconds);
  return gap.seconds > limit ? [featureReason(feature, 'max_gap_seconds', gap.seconds, limit, gap.missing)] : [];
}

/** Recorded values must be recent, also as a fallback for a covariate; runs have their own age. */
function ageReasons(plan: FramePlan, feature: Feature): Reason[] {
  if (feature.watermarkMs === null || feature.sourceKind === 'calendar' || feature.sourceKind === 'covariate')
    return [];
  const { max_input_age_seconds: limit } = plan.route.task.quality;
  const observed = (plan.asOfMs - feature.watermarkMs) / 1000;
  return observed > limit ? [featureReason(feature, 'max_input_age_seconds', observed, limit)] : [];
}

function ratioReasons(plan: FramePlan, features: readonly AlignedFeature[]): Reason[] {
  const { max_missing_ratio: limit } = plan.route.task.quality;
  const observed = missingRatio(features.map((feature) => feature.cells));
  return observed > limit ? [{ rule: 'max_missing_ratio', segment: null, feature: null, observed, limit }] : [];
}
