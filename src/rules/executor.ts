/**
 * The executor [rules §7]. One run has two phases: the whole flow is evaluated on one
 * snapshot into a plan, then the plan's writes are dispatched. A run that ends because of a missing input, or a value
 * that is not finite, dispatches nothing at all.
 */

import type { PointFacts } from '../site/catalogue.ts';
import type { CommandPort } from '../site/command-port.ts';
import type { Snapshot } from '../site/snapshot.ts';
import type { Arbiter } from './arbiter.ts';
import type { CompiledRule, CompiledWrite } from './compile.ts';
import { evaluateRule, type Plan } from './evaluate.ts';
import type { ActionReason, ActionRecord, ExecutionRecord, Outcome, RunError, RunTrigger } from './record.ts';
import { errorOf, trailOf, variableValues } from './run-record.ts';
import type { RuleState } from './state.ts';
import { settled } from './step.ts';

/** Identity and time of a run; set by the engine. */
export interface RunContext {
  readonly executionId: string;
  readonly correlationId: string;
  readonly trigger: RunTrigger;
  /** RFC 3339 UTC with milliseconds. */
  readonly startedAt: string;
  /** Microseconds since the start of the run. */
  readonly durationUs: () => number;
  /** Nothing is sent, no point is claimed, and every write within its range counts as accepted [rules §1.6]. */
  readonly isShadow?: boolean;
}

/** The result of one execution, in addition to the plan. */
export interface RuleRun {
  readonly actions: readonly ActionRecord[];
  readonly error: RunError | null;
  readonly outcome: Outcome;
}

/** Evaluates the rule into `plan` and dispatches its writes. */
export function runRule(
  rule: CompiledRule,
  snapshot: Snapshot,
  state: RuleState,
  arbiter: Arbiter,
  port: CommandPort,
  plan: Plan,
  isShadow = false,
): RuleRun {
  evaluateRule(rule, snapshot, state, plan);
  const actions: ActionRecord[] = [];
  if (plan.status === 'evaluated') {
    for (let index = 0; index < plan.writeCount; index++)
      actions.push(isShadow ? shadowed(plan, index) : dispatch(rule, plan, index, snapshot, arbiter, port));
  }
  return ruleRunOf(rule, plan, actions);
}

/** The result of a run whose plan led to these actions. */
export function ruleRunOf(rule: CompiledRule, plan: Plan, actions: readonly ActionRecord[]): RuleRun {
  let failedActions = 0;
  for (let index = 0; index < actions.length; index++) {
    const { success, reason } = actions[index] as ActionRecord;
    if (!success && reason !== 'outranked' && reason !== 'overridden') failedActions++;
  }
  const error = errorOf(rule, plan, failedActions);
  return { actions, error, outcome: outcomeOf(plan, error, actions.length) };
}

/** One execution: evaluate, dispatch, record. */
export function executeRule(
  rule: CompiledRule,
  snapshot: Snapshot,
  state: RuleState,
  arbiter: Arbiter,
  port: CommandPort,
  plan: Plan,
  run: RunContext,
): ExecutionRecord {
  const { actions, error, outcome } = runRule(rule, snapshot, state, arbiter, port, plan, run.isShadow);
  const trail = trailOf(rule, plan);
  return {
    execution_id: run.executionId,
    rule_id: rule.id,
    rule_revision: rule.revision,
    trigger: run.trigger,
    ...(run.isShadow === true ? { shadow: true } : {}),
    started_at: run.startedAt,
    duration_us: run.durationUs(),
    outcome,
    success: outcome === 'acted' || outcome === 'no_action',
    error,
    actions_executed: actions,
    execution_path: trail.path,
    matched_condition: trail.matched,
    variable_values: variableValues(rule, plan, trail),
    node_details: trail.details,
    correlation_id: run.correlationId,
  };
}

function outcomeOf(plan: Plan, error: RunError | null, actions: number): Outcome {
  if (plan.status === 'missing-input') return 'skipped';
  if (error !== null) return 'failed';
  return actions > 0 ? 'acted' : 'no_action';
}

/** The result of a write by the rule alone, before any outside check. */
function shadowed(plan: Plan, index: number): ActionRecord {
  const { nodeId, point, value, write } = plannedAt(plan, index);
  if (value - value !== 0) return refused(nodeId, point, null, 'not-finite');
  const written = settledBy(write, value);
  if (written === null) return refused(nodeId, point, value, 'out-of-range');
  const { instance, point_type, point: number } = point;
  return { node_id: nodeId, instance, point_type, point: number, value, written, success: true, reason: 'shadow' };
}

function plannedAt(plan: Plan, index: number) {
  const write = plan.writes[index];
  const value = plan.values[index];
  if (write === undefined || value === undefined) throw new Error('the plan is torn');
  return { nodeId: write.nodeId, point: write.point, value, write };
}

function settledBy({ latest, point }: CompiledWrite, value: number): number | null {
  if (!Object.is(value, latest.asked)) {
    latest.settled = settled(value, point);
    latest.asked = value;
  }
  return latest.settled;
}

/** One write through all checks, in the order of [rules §7.3]; only an accepted one claims its point. */
function dispatch(
  rule: CompiledRule,
  plan: Plan,
  index: number,
  snapshot: Snapshot,
  arbiter: Arbiter,
  port: CommandPort,
): ActionRecord {
  const { nodeId, point, value, write } = plannedAt(plan, index);
  if (value - value !== 0) return refused(nodeId, point, null, 'not-finite');
  const meant = settledBy(write, value);
  if (meant === null) return refused(nodeId, point, value, 'out-of-range');
  const verdict = arbiter.ask(point, rule.id, rule.priority);
  if (!verdict.allowed) {
    const refusal = refused(nodeId, point, value, verdict.reason);
    if (verdict.reason === 'outranked') return { ...refusal, outranked_by: verdict.by };
    return verdict.reason === 'overridden' ? { ...refusal, overridden_by: verdict.by } : refusal;
  }
  const permitted = arbiter.permitted(point, meant);
  const answer = port.submit({
    pointIndex: point.index,
    value: permitted.value,
    priority: rule.priority,
    generation: snapshot.generation,
    asked: value,
    by: rule.writer,
  });
  if (answer !== 'accepted') return refused(nodeId, point, value, answer);
  arbiter.claim(point, rule.id, rule.priority, permitted);
  const accepted = {
    node_id: nodeId,
    instance: point.instance,
    point_type: point.point_type,
    point: point.point,
    value,
    written: permitted.value,
    success: true,
  };
  return permitted.limitedBy === null
    ? accepted
    : { ...accepted, reason: 'limited', limited_by: permitted.limitedBy.id };
}

function refused(nodeId: string, point: PointFacts, value: number | null, reason: ActionReason): ActionRecord {
  return {
    node_id: nodeId,
    instance: point.instance,
    point_type: point.point_type,
    point: point.point,
    value,
    success: false,
    reason,
  };
}
