/**
 * First phase of a run (§6 "Execution behavior", decisions §2.3, §2.5): the whole flow is evaluated on one snapshot
 * into a plan, and nothing is written. Nodes are visited in topological order, each at most once, when a taken wire
 * leads to it. This is the hot path: it allocates nothing.
 */
import type {
  CompiledAssignment,
  CompiledBranch,
  CompiledNode,
  CompiledParameter,
  CompiledRead,
  CompiledRule,
  CompiledWrite,
} from './compile.ts';
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
    values: [],
    missing: [],
  };
}

/** Runs that one marking of the nodes can count before it is wiped. */
const runsPerMarking = 1 << 30;

/** Walks the rule on `snapshot` and fills `plan`; writes nothing. `state` advances for the nodes that run. */
export function evaluateRule(rule: CompiledRule, snapshot: Snapshot, state: RuleState, plan: Plan): void {
  const { frame, nodes } = rule;
  const { reached } = frame;
  plan.status = 'evaluated';
  plan.pathLength = 0;
  plan.writeCount = 0;
  if (plan.missing.length > 0) plan.missing.length = 0;
  frame.snapshot = snapshot;
  frame.sites = state;
  frame.notFinite = false;
  if (++frame.run === runsPerMarking) {
    reached.fill(0);
    frame.run = 1;
  }
  const { run } = frame;
  reached[0] = run;
  for (let position = 0; position < nodes.length; position++) {
    if (reached[position] !== run) continue;
    const node = nodes[position] as CompiledNode;
    let { next } = node;
    let taken = -1;
    if (node.prepares) prepare(node, rule, plan);
    if (node.branches.length > 0 && plan.status === 'evaluated') {
      taken = chooseBranch(node, rule, plan);
      if (taken >= 0) next = (node.branches[taken] as CompiledBranch).next;
    } else if (node.writes.length > 0 && plan.status === 'evaluated') {
      planWrites(node.writes, rule, plan);
    }
    plan.path[plan.pathLength] = position;
    plan.taken[plan.pathLength++] = taken;
    if (plan.status !== 'evaluated') return;
    for (let index = 0; index < next.length; index++) reached[next[index] as number] = run;
  }
}

/** What a node does before it decides or writes. Sets `plan.status` when the run must end here. */
function prepare(node: CompiledNode, rule: CompiledRule, plan: Plan): void {
  const { frame } = rule;
  const { reads, parameters, assignments, before } = node;
  readInputs(reads, frame.snapshot, frame.slots, plan);
  if (plan.status !== 'evaluated') return;
  for (let index = 0; index < parameters.length; index++) {
    const parameter = parameters[index] as CompiledParameter;
    frame.slots[parameter.slot] = parameter.value;
  }
  assign(assignments, rule);
  for (let index = 0; index < before.length; index++) before[index]?.(frame);
  if (frame.notFinite) plan.status = 'not-finite';
}

/** Names every input that is unavailable. */
function readInputs(reads: readonly CompiledRead[], snapshot: Snapshot, slots: Float64Array, plan: Plan): void {
  for (let index = 0; index < reads.length; index++) {
    const read = reads[index] as CompiledRead;
    if (usable(snapshot, read.pointIndex, read.maxAgeMs)) slots[read.slot] = snapshot.values[read.pointIndex] as number;
    else plan.missing.push(read.name);
  }
  if (plan.missing.length > 0) plan.status = 'missing-input';
}

/** Ends at the first value that is not finite: what comes after it has no value either. */
function assign(assignments: readonly CompiledAssignment[], rule: CompiledRule): void {
  const { frame } = rule;
  const { slots } = frame;
  for (let index = 0; index < assignments.length; index++) {
    const { slot, run } = assignments[index] as CompiledAssignment;
    const value = frame.notFinite ? Number.NaN : run(frame);
    if (value - value !== 0) frame.notFinite = true;
    slots[slot] = frame.notFinite ? Number.NaN : value;
  }
}

function chooseBranch(node: CompiledNode, rule: CompiledRule, plan: Plan): number {
  const { frame } = rule;
  const { branches } = node;
  for (let index = 0; index < branches.length; index++) {
    const isTrue = (branches[index]?.run(frame) ?? 0) !== 0;
    if (frame.notFinite) {
      plan.status = 'not-finite';
      return -1;
    }
    if (isTrue) return index;
  }
  return -1;
}

/** A value that is not finite fails its action only; the flag is lowered for what follows. */
function planWrites(writes: readonly CompiledWrite[], rule: CompiledRule, plan: Plan): void {
  const { frame } = rule;
  for (let index = 0; index < writes.length; index++) {
    const write = writes[index] as CompiledWrite;
    const value = write.run(frame);
    const at = plan.writeCount++;
    plan.writes[at] = write;
    plan.values[at] = frame.notFinite ? Number.NaN : value;
    frame.notFinite = false;
  }
}
