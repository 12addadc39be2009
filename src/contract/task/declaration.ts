/**
 * A task declaration as the rest of the service reads it [data-processing §2.2]: the portable meaning of one frame and one
 * output. Members keep the spelling of the YAML; every default is already filled in.
 */
import type { SubstitutionMethod } from '../missing.ts';

export type Aggregation = 'mean' | 'sum' | 'min' | 'max' | 'last';
export type DuplicatePolicy = 'latest' | 'reject';
type ValueType = 'number' | 'string' | 'boolean';
/** A bounded substitution: a run of more than `max_cells` missing cells is not filled at all. Null: no bound. */
export interface Substitution {
  readonly method: SubstitutionMethod;
  readonly max_cells: number | null;
}

export type MissingPolicy = 'reject' | 'allow' | Substitution;

/** Bounds of a value; an empty range allows every finite number. */
export interface ValueRange {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusive_minimum?: number;
  readonly exclusive_maximum?: number;
  readonly integer?: boolean;
}

type InputSource =
  | { readonly kind: 'measurement'; readonly instance_ref: string; readonly point_ref: string }
  | { readonly kind: 'covariate'; readonly dataset_ref: string; readonly field: string }
  | { readonly kind: 'calendar'; readonly transform: string };

export interface TaskInput {
  readonly name: string;
  readonly value_type: ValueType;
  /** Null for string and boolean inputs, which have none. */
  readonly unit: string | null;
  readonly source: InputSource;
  readonly range: ValueRange;
  /** A value outside `range` either counts as missing, or the frame is refused. */
  readonly out_of_range: 'reject' | 'missing';
}

export interface FeaturePolicy {
  readonly name: string;
  readonly aggregation: Aggregation;
  readonly duplicate_policy: DuplicatePolicy;
}

export type FallbackStrategy = 'persistence' | 'seasonal-naive' | 'historical-average';

export interface FallbackPolicy {
  readonly strategy: FallbackStrategy;
  readonly version: '1';
  /** A history feature of the target's unit. */
  readonly source_feature: string;
  /** Seconds, a multiple of the cadence. Null for `persistence`; a week for `historical-average` unless declared. */
  readonly season_seconds: number | null;
  /** Null except for `historical-average`. */
  readonly weeks: number | null;
  readonly max_output_age_seconds: number;
}

export interface TaskDeclaration {
  readonly schema: 'svc.data-processing-task.v1';
  readonly id: string;
  readonly revision: number;
  readonly kind: 'forecast';
  readonly processor_contract: 'svc.data-processing.forecast.v1';
  readonly description: string;
  readonly target: {
    readonly name: string;
    readonly semantic_point: string;
    readonly unit: string;
    readonly sign_convention: string;
  };
  readonly frame: {
    readonly cadence_seconds: number;
    readonly history_steps: number;
    /** The most steps that a request may ask for. */
    readonly horizon_steps: number;
    /** IANA zone of the calendar features. */
    readonly timezone: string;
    readonly live_tail: 'forbidden' | 'allowed';
    readonly settle_seconds: number;
  };
  readonly inputs: {
    readonly history: readonly TaskInput[];
    /** Empty when the task declares none; the frame then has no such segment. */
    readonly future_covariates: readonly TaskInput[];
  };
  readonly alignment: {
    readonly aggregation: Aggregation;
    readonly timestamp_semantics: 'interval_end';
    readonly duplicate_policy: DuplicatePolicy;
    readonly feature_policies: readonly FeaturePolicy[];
    readonly missing_policy: MissingPolicy;
  };
  readonly quality: {
    readonly max_input_age_seconds: number;
    /** Null: covariate runs of any age. */
    readonly max_issue_age_seconds: number | null;
    readonly max_gap_seconds: number;
    readonly max_missing_ratio: number;
    readonly max_source_skew_seconds: number;
    readonly require_input_watermark: boolean;
    readonly require_covariate_issue_time_not_after_as_of: boolean;
  };
  readonly output: {
    readonly unit: string;
    readonly sign_convention: string;
    readonly minimum: number | null;
    readonly maximum: number | null;
    readonly max_quantiles: number;
    readonly expires_after_seconds: number;
    readonly median_equals_value: boolean;
    readonly zero_is_baseline: boolean;
  };
  readonly egress: { readonly remote_allowed: boolean };
  readonly fallbacks: readonly FallbackPolicy[];
}

/** Aggregation and duplicate policy of one history feature: its own, else the task's. */
export function policyOf(task: Pick<TaskDeclaration, 'alignment'>, feature: string): FeaturePolicy {
  const { aggregation, duplicate_policy, feature_policies } = task.alignment;
  const own = feature_policies.find((policy) => policy.name === feature);
  return own ?? { name: feature, aggregation, duplicate_policy };
}

/** True when `value` is within every bound of `range`. */
export function inRange(value: number, range: ValueRange): boolean {
  if (range.minimum !== undefined && value < range.minimum) return false;
  if (range.maximum !== undefined && value > range.maximum) return false;
  if (range.exclusive_minimum !== undefined && value <= range.exclusive_minimum) return false;
  if (range.exclusive_maximum !== undefined && value >= range.exclusive_maximum) return false;
  return range.integer !== true || Number.isInteger(value);
}
