/**
 * The executor (§6 "Execution behavior", decisions §2.5). One run has two phases: the whole flow is evaluated on one
 * snapshot into a plan, then the plan's writes are dispatched. A run that ends for want of an input, or on a value
 * that is not finite, dispatches nothing at all.
 */
import type { Arbiter } from './arbiter.ts';
import type { PointFacts } from './catalogue.ts';
import type { CommandPort } from './command-port.ts';
import type {
  CompiledAssignment,
  CompiledNode,
  CompiledParameter,
  CompiledRead,
  CompiledRule,
  CompiledWrite,
} from './compile.ts';
import { roundHalfAway } from './expression/function-table.ts';
import type { ActionReason, ActionRecord, ExecutionRecord, RunError, RunTrigger } from './record.ts';
import { type Snapshot, usable } from './snapshot.ts';
import type { RuleState } from './state.ts';

/** What an evaluation found; reused from run to run, so read it before the next one. */
export interface Plan {
  status: 'evaluated' | 'missing-input' | 'not-finite';
  /**
   * Positions of visited nodes, in order; the first `pathLength` count. Lists are never shortened: giving their memory
   * back and taking it again would cost more than the evaluation.
   */
  pathLength: number;
  readonly path: number[];
  /** By visited node: which branch was taken; -1 for `else` or none. */
  readonly taken: number[];
  /** Planned writes and their raw values, NaN where the value was not finite. */
  writeCount: number;
  readonly writes: CompiledWrite[];
  readonly writeNodes: number[];
  readonly values: number[];
  /** Names of unavailable inputs. */
  readonly missing: string[];
}

export function createPlan(): Plan {
  return {
    status: 'evaluated',
    pathLength: 0,
    path: [],
    taken: [],
    writeCount: 0,
    writes: [],
    writeNodes: [],
    values: [],
    missing: [],
  };
}

/** Walks the rule on `snapshot` and fills `plan`; writes nothing. `state` advances for the nodes that run. */
export function evaluateRule(rule: CompiledRule, snapshot: Snapshot, state: RuleState, plan: Plan): void {
  const { frame, nodes } = rule;
  const { ran } = frame;
  clear(plan);
  frame.snapshot = snapshot;
  frame.sites = state;
  frame.notFinite = false;
  ran.fill(0);
  // 2 marks a node that a taken wire leads to, 1 one that ran.
  ran[0] = 2;
  for (let position = 0; position < nodes.length; position++) {
    if (ran[position] !== 2) continue;
    const node = nodes[position];
    if (node === undefined) throw new Error('node position outside the rule');
    ran[position] = 1;
    const taken = runNode(rule, node, position, plan);
    plan.path[plan.pathLength] = position;
    plan.taken[plan.pathLength++] = taken;
    if (plan.status !== 'evaluated') return;
    const next = taken >= 0 ? node.branches[taken]?.next : node.next;
    if (next === undefined) throw new Error('no such branch');
    for (let index = 0; index < next.length; index++) ran[next[index] ?? 0] = 2;
  }
}

function clear(plan: Plan): void {
  plan.status = 'evaluated';
  plan.pathLength = 0;
  plan.writeCount = 0;
  if (plan.missing.length > 0) plan.missing.length = 0;
}

/** Runs one node; returns the branch taken, or -1. Sets `plan.status` when the run must end here. */
function runNode(rule: CompiledRule, node: CompiledNode, position: number, plan: Plan): number {
  const { frame } = rule;
  const { slots, snapshot } = frame;
  const { reads, parameters, before, assignments, writes } = node;
  for (let index = 0; index < reads.length; index++) {
    const read = reads[index] as CompiledRead;
    const at = read.point.index;
    if (usable(snapshot, at, read.maxAgeMs)) slots[read.slot] = snapshot.values[at] as number;
    else plan.missing.push(read.name);
  }
  if (plan.missing.length > 0) {
    plan.status = 'missing-input';
    return -1;
  }
  for (let index = 0; index < parameters.length; index++) {
    const parameter = parameters[index] as CompiledParameter;
    slots[parameter.slot] = parameter.value;
  }
  for (let index = 0; index < before.length; index++) before[index]?.(frame);
  for (let index = 0; index < assignments.length; index++) {
    const assignment = assignments[index] as CompiledAssignment;
    const value = assignment.run(frame);
    if (value - value !== 0) frame.notFinite = true;
    slots[assignment.slot] = value;
  }
  if (frame.notFinite) {
    plan.status = 'not-finite';
    return -1;
  }
  if (node.branches.length > 0) return chooseBranch(node, rule, plan);
  for (let index = 0; index < writes.length; index++) planWrite(writes[index] as CompiledWrite, rule, position, plan);
  return -1;
}

function chooseBranch(node: CompiledNode, rule: CompiledRule, plan: Plan): number {
  const { frame } = rule;
  for (let index = 0; index < node.branches.length; index++) {
    const isTrue = (node.branches[index]?.run(frame) ?? 0) !== 0;
    if (frame.notFinite) {
      plan.status = 'not-finite';
      return -1;
    }
    if (isTrue) return index;
  }
  return -1;
}

/** A value that is not finite fails this action only; the flag is lowered for what follows. */
function planWrite(write: CompiledWrite, rule: CompiledRule, position: number, plan: Plan): void {
  const { frame } = rule;
  const value = write.run(frame);
  const at = plan.writeCount++;
  plan.writes[at] = write;
  plan.writeNodes[at] = position;
  plan.values[at] = frame.notFinite ? Number.NaN : value;
  frame.notFinite = false;
}

/** What a run is called and how it is timed; made by the engine. */
export interface RunContext {
  readonly executionId: string;
  readonly correlationId: string;
  readonly trigger: RunTrigger;
  /** RFC 3339 UTC with milliseconds. */
  readonly startedAt: string;
  /** Microseconds since the run began. */
  readonly durationUs: () => number;
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
  evaluateRule(rule, snapshot, state, plan);
  const actions: ActionRecord[] = [];
  let failedActions = 0;
  if (plan.status === 'evaluated') {
    for (let index = 0; index < plan.writeCount; index++) {
      const action = dispatch(rule, plan, index, snapshot, arbiter, port);
      if (!action.success && action.reason !== 'outranked') failedActions++;
      actions.push(action);
    }
  }
  const error = errorOf(rule, plan, failedActions);
  const outcome =
    plan.status === 'missing-input'
      ? 'skipped'
      : error !== null
        ? 'failed'
        : actions.length > 0
          ? 'acted'
          : 'no_action';
  return {
    execution_id: run.executionId,
    rule_id: rule.id,
    rule_revision: rule.revision,
    trigger: run.trigger,
    started_at: run.startedAt,
    duration_us: run.durationUs(),
    outcome,
    success: outcome === 'acted' || outcome === 'no_action',
    error,
    actions_executed: actions,
    execution_path: pathIds(rule, plan),
    matched_condition: matchedCondition(rule, plan),
    variable_values: variableValues(rule, plan),
    node_details: nodeDetails(rule, plan),
    correlation_id: run.correlationId,
  };
}

function dispatch(
  rule: CompiledRule,
  plan: Plan,
  index: number,
  snapshot: Snapshot,
  arbiter: Arbiter,
  port: CommandPort,
): ActionRecord {
  const point = plan.writes[index]?.point;
  const value = plan.values[index];
  const nodeId = rule.nodes[plan.writeNodes[index] ?? -1]?.id;
  if (point === undefined || value === undefined || nodeId === undefined) throw new Error('plan is torn');
  const failed = (reason: ActionReason): ActionRecord => ({
    ...actionBase(nodeId, point, value),
    success: false,
    reason,
  });

  if (value - value !== 0) return failed('not-finite');
  const written = toStep(value, point.step);
  if ((point.min !== undefined && written < point.min) || (point.max !== undefined && written > point.max))
    return failed('out-of-range');
  const verdict = arbiter.ask(point, rule.id, rule.priority, snapshot.monotonicMs);
  if (!verdict.allowed)
    return verdict.reason === 'outranked'
      ? { ...failed('outranked'), outranked_by: verdict.by }
      : failed(verdict.reason);
  const answer = port.submit({ pointIndex: point.index, value: written, generation: snapshot.generation });
  if (answer !== 'accepted') return failed(answer);
  arbiter.claim(point, rule.id, rule.priority, snapshot.monotonicMs);
  return {
    node_id: nodeId,
    instance: point.instance,
    point_type: point.point_type,
    point: point.point,
    value,
    written,
    success: true,
  };
}

function actionBase(nodeId: string, point: PointFacts, value: number): Omit<ActionRecord, 'success'> {
  return {
    node_id: nodeId,
    instance: point.instance,
    point_type: point.point_type,
    point: point.point,
    value: value - value === 0 ? value : null,
  };
}

/** The nearest multiple of `step`, half away from zero; the decimal noise of the multiplication is cut off. */
export function toStep(value: number, step: number | undefined): number {
  if (step === undefined) return value;
  const rounded = roundHalfAway(value / step) * step;
  return Number(rounded.toPrecision(15));
}

function errorOf(rule: CompiledRule, plan: Plan, failedActions: number): RunError | null {
  const last = rule.nodes[plan.path[plan.pathLength - 1] ?? 0]?.id ?? '';
  if (plan.status === 'missing-input') {
    return {
      code: 'missing-input',
      message: `no usable value for ${plan.missing.join(', ')}`,
      missing: [...plan.missing],
      node_id: last,
    };
  }
  if (plan.status === 'not-finite') {
    return { code: 'not-finite', message: `node ${last} computed a value that is not finite`, node_id: last };
  }
  if (failedActions === 0) return null;
  return { code: 'action-failed', message: `${failedActions} of ${plan.writeCount} actions failed` };
}

function pathIds(rule: CompiledRule, plan: Plan): string[] {
  const ids: string[] = [];
  for (let index = 0; index < plan.pathLength; index++) ids.push(rule.nodes[plan.path[index] ?? -1]?.id ?? '');
  return ids;
}

function matchedCondition(rule: CompiledRule, plan: Plan): string | null {
  for (let index = plan.pathLength - 1; index >= 0; index--) {
    const node = rule.nodes[plan.path[index] ?? -1];
    if (node?.type !== 'switch' || plan.taken[index] === undefined) continue;
    const branch = node.branches[plan.taken[index] ?? -1];
    if (branch !== undefined) return branch.name;
    if (plan.status === 'evaluated' && node.next.length > 0) return 'else';
  }
  return null;
}

/** The values that the run saw, by name; a name declared again shows the later value. */
function variableValues(rule: CompiledRule, plan: Plan): Record<string, number | null> {
  const values: Record<string, number | null> = {};
  const { slots } = rule.frame;
  for (let index = 0; index < plan.pathLength; index++) {
    const node = rule.nodes[plan.path[index] ?? -1];
    if (node === undefined) continue;
    for (const { name, slot } of node.reads)
      values[name] = plan.missing.includes(name) ? null : finiteOrNull(slots[slot]);
    // In the node that ended the run, what comes after the reads was not computed.
    if (plan.missing.length > 0 && index === plan.pathLength - 1) continue;
    for (const { name, slot } of node.parameters) values[name] = finiteOrNull(slots[slot]);
    for (const { name, slot } of node.assignments) values[name] = finiteOrNull(slots[slot]);
  }
  return values;
}

/** Per visited node what it decided: switches the branches tried with their results, others nothing. */
function nodeDetails(rule: CompiledRule, plan: Plan): Record<string, unknown> {
  const details: Record<string, unknown> = {};
  for (let index = 0; index < plan.pathLength; index++) {
    const node = rule.nodes[plan.path[index] ?? -1];
    if (node === undefined || node.branches.length === 0) continue;
    const taken = plan.taken[index] ?? -1;
    const branches = node.branches.map((branch, position) => ({
      name: branch.name,
      result: taken === -1 || position < taken ? false : position === taken ? true : null,
    }));
    const ended = plan.status !== 'evaluated' && index === plan.pathLength - 1;
    details[node.id] = ended
      ? { type: node.type, ended: plan.status }
      : { type: node.type, branches, output: branches[taken]?.name ?? 'else' };
  }
  return details;
}

function finiteOrNull(value: number | undefined): number | null {
  return value !== undefined && value - value === 0 ? value : null;
}
