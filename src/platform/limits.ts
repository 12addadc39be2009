/** Limits of the application contracts (application contracts without a route, [platform §6]). */

export interface PlatformLimits {
  /** Nesting of a value from outside; the deepest legal one, a provider's answer, has 6 levels. */
  readonly value_depth_max: number;
  /** Members and elements of one value from outside: 1000 regions with a hundred capabilities each fit. */
  readonly value_nodes_max: number;
  /** Permissions that one context may carry. */
  readonly permissions_max: number;
  /** Time that a store, a clock-bound lookup or an audit write may take. */
  readonly store_deadline_ms: number;
  /** Time that a policy decision may take. */
  readonly policy_deadline_ms: number;
  /** Time that a provider adapter may take to observe its regions. */
  readonly adapter_deadline_ms: number;
  /** Regions in one observation. */
  readonly regions_max: number;
  /** Time that an engine may take for one plan. */
  readonly engine_deadline_ms: number;
  /** Engine runs under way at once. */
  readonly engine_runs_max: number;
  /** Resource changes in one plan. */
  readonly plan_changes_max: number;
  /** Reasons of one policy denial. */
  readonly policy_reasons_max: number;
  /** How far ahead an enrollment claim may expire. */
  readonly claim_ahead_max_ms: number;
}

export const platformLimits: PlatformLimits = {
  value_depth_max: 16,
  value_nodes_max: 200_000,
  permissions_max: 256,
  store_deadline_ms: 5000,
  policy_deadline_ms: 5000,
  adapter_deadline_ms: 30_000,
  regions_max: 1000,
  // Planning reads every resource of a stack from its provider: minutes, not seconds.
  engine_deadline_ms: 900_000,
  engine_runs_max: 16,
  plan_changes_max: 10_000,
  policy_reasons_max: 32,
  claim_ahead_max_ms: 86_400_000,
};
