/**
 * The execution record [rules §7.4]: what one run read, decided and tried to write. History,
 * per-rule log and live stream all carry this very object.
 */
import type { TriggerType } from './trigger/index.ts';

export type Outcome = 'acted' | 'no_action' | 'skipped' | 'failed';

export type ActionReason =
  | 'not-finite'
  | 'out-of-range'
  | 'unavailable'
  | 'stale-generation'
  | 'offline'
  | 'no-route'
  | 'overridden'
  | 'outranked'
  | 'rate-limited';

export interface ActionRecord {
  readonly node_id: string;
  readonly instance: number;
  readonly point_type: 'measurement' | 'action';
  readonly point: number;
  /** The value the rule asked for; null when it was not finite. */
  readonly value: number | null;
  /** The value handed to the device layer, within all limits and rounded to the point's step; only on accepted writes. */
  readonly written?: number;
  readonly success: boolean;
  /** Of a write that succeeded: `limited`, or `shadow` where it was not sent. */
  readonly reason?: ActionReason | 'limited' | 'shadow';
  /** With `overridden`: the override that holds the point. */
  readonly overridden_by?: string;
  /** With `limited`: the limit that changed the value. */
  readonly limited_by?: string;
  /** With `outranked`: the rule whose write won. */
  readonly outranked_by?: number;
}

export interface RunTrigger {
  readonly type: TriggerType | 'manual';
  /** The point whose change made the rule due. */
  readonly point?: { readonly instance: number; readonly point_type: 'measurement' | 'action'; readonly point: number };
}

export interface RunError {
  /** `missing-input` (skipped), `not-finite`, `action-failed`. */
  readonly code: 'missing-input' | 'not-finite' | 'action-failed';
  readonly message: string;
  /** Names of the variables that were unavailable. */
  readonly missing?: readonly string[];
  readonly node_id?: string;
}

export interface ExecutionRecord {
  readonly execution_id: string;
  readonly rule_id: number;
  readonly rule_revision: number;
  readonly trigger: RunTrigger;
  /** Present where the rule ran in shadow: nothing was sent [rules §1.6]. */
  readonly shadow?: true;
  /** RFC 3339 UTC with milliseconds. */
  readonly started_at: string;
  readonly duration_us: number;
  readonly outcome: Outcome;
  readonly success: boolean;
  readonly error: RunError | null;
  readonly actions_executed: readonly ActionRecord[];
  readonly execution_path: readonly string[];
  /** Name of the last branch taken; null when no branch was. */
  readonly matched_condition: string | null;
  readonly variable_values: Readonly<Record<string, number | null>>;
  readonly node_details: Readonly<Record<string, unknown>>;
  readonly correlation_id: string;
}
