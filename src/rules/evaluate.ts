/**
 * First phase of a run [rules §7], [rules §4.1], [rules §7.1]: the whole flow is evaluated on one snapshot
 * into a plan, and nothing is written. Nodes are visited in topological order, each at most once, when a taken wire
 * leads to it. This is the hot path: it allocates nothing.
 */

import { quality } from '../site/quality.ts';
import type { Snapshot } from '../site/snapshot.ts';
import type {
  CompiledAssignment,
  CompiledBranch,
  CompiledNode,
  CompiledRead,
  CompiledRule,
  CompiledWrite,
  EvaluationStatus,
} from './compile.ts';
import type { RuleState } from './state.ts';

/** The result of an evaluation; reused from run to run, so read it before the next one. */
export interface Plan {
  status: EvaluationStatus;
  /**
   * Positions of visited nodes, in order; the first `pathLength` count. Lists never shrink: releasing and allocating memory
   * would cost more than the evaluation.
   */
  pathLength: number;
  readonly path: number[];
  /** By position of a visited switch: its branch; -1 for `else`. */
  readonly taken: number[];
  /** Planned writes and their raw values, NaN for a value that was not finite. */
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

/** Runs that one marking of the nodes can count before it is cleared. */
const runsPerMarking = 1 << 30;

/** Evaluates the rule on `snapshot` and fills `plan`; writes nothing. `state` advances for the nodes that run. */
export function evaluateRule(rule: CompiledRule, snapshot: Snapshot, state: RuleState, plan: Plan): void {
  const { frame } = rule;
  plan.status = 'evaluated';
  plan.writeCount = 0;
  if (plan.missing.length > 0) plan.missing.length = 0;
  frame.snapshot = snapshot;
  frame.sites = state;
  frame.notFinite = false;
  if (rule.isPath) followPath(rule, plan);
  else walkGraph(rule, plan);
  if (plan.missing.length > 0) noteFurtherMissing(rule, plan);
}

/**
 * Also names missing inputs further on [rules §7.1]: in the nodes that this run has reached already and in
 * those that certainly follow. The branch of a later decision is unknown.
 */
function noteFurtherMissing({ nodes, frame, isPath }: CompiledRule, plan: Plan): void {
  const last = plan.path[plan.pathLength - 1] ?? 0;
  const follows = new Set(nodes[last]?.branches.length === 0 ? nodes[last].next : []);
  for (let position = last + 1; position < nodes.length; position++) {
    const node = nodes[position] as CompiledNode;
    if (!follows.has(position) && (isPath || frame.reached[position] !== frame.run)) continue;
    readInputs(node.reads, frame.snapshot, frame.slots, plan);
    if (node.branches.length === 0) for (const next of node.next) follows.add(next);
  }
}

/** If every output has at most one target, there is one next node at any time. */
function followPath(rule: CompiledRule, plan: Plan): void {
  const { nodes } = rule;
  const { path } = plan;
  let length = 0;
  for (let position = 0; ; ) {
    const node = nodes[position] as CompiledNode;
    path[length++] = position;
    const next: readonly number[] = node.isIdle ? node.next : visit(node, position, rule, plan);
    if (next.length === 0) break;
    position = next[0] as number;
  }
  plan.pathLength = length;
}

/** Nodes in topological order; one runs when a taken wire has reached it, and then all wires to it are decided. */
function walkGraph(rule: CompiledRule, plan: Plan): void {
  const { frame, nodes } = rule;
  const { reached } = frame;
  if (++frame.run === runsPerMarking) {
    reached.fill(0);
    frame.run = 1;
  }
  const { run } = frame;
  let length = 0;
  reached[0] = run;
  for (let position = 0; position < nodes.length && plan.status === 'evaluated'; position++) {
    if (reached[position] !== run) continue;
    const node = nodes[position] as CompiledNode;
    plan.path[length++] = position;
    const next = node.isIdle ? node.next : visit(node, position, rule, plan);
    for (let index = 0; index < next.length; index++) reached[next[index] as number] = run;
  }
  plan.pathLength = length;
}

/** Next position after the end of a run. */
const nowhere: readonly number[] = [];

/** Runs one node and returns the next nodes. */
function visit(node: CompiledNode, position: number, rule: CompiledRule, plan: Plan): readonly number[] {
  if (node.prepares) {
    prepare(node, rule, plan);
    if (plan.status !== 'evaluated') return nowhere;
  }
  if (node.branches.length > 0) return chooseBranch(node, position, rule, plan);
  if (node.writes.length > 0) planWrites(node.writes, rule, plan);
  return node.next;
}

/** The steps of a node before it decides or writes. Sets `plan.status` if the run must end here. */
function prepare(node: CompiledNode, rule: CompiledRule, plan: Plan): void {
  const { frame } = rule;
  const { reads, assignments, before } = node;
  if (reads.length > 0) {
    readInputs(reads, frame.snapshot, frame.slots, plan);
    if (plan.status !== 'evaluated') return;
  }
  if (assignments.length > 0) assign(assignments, rule);
  for (let index = 0; index < before.length; index++) before[index]?.(frame);
  if (frame.notFinite) plan.status = 'not-finite';
}

/** Names every input that is not `usable`, once; inlined, because a call per input would dominate the cost of an evaluation. */
function readInputs(reads: readonly CompiledRead[], snapshot: Snapshot, slots: Float64Array, plan: Plan): void {
  const { values, quality: codes, observedMs, monotonicMs } = snapshot;
  for (let index = 0; index < reads.length; index++) {
    const read = reads[index] as CompiledRead;
    const at = read.pointIndex;
    const value = values[at] as number;
    const code = codes[at];
    // An index outside the snapshot reads undefined and is never usable.
    const isValid = (code === quality.good || code === quality.uncertain) && value - value === 0;
    if (isValid && monotonicMs - (observedMs[at] as number) <= read.maxAgeMs) slots[read.slot] = value;
    else if (!plan.missing.includes(read.name)) plan.missing.push(read.name);
  }
  if (plan.missing.length > 0) plan.status = 'missing-input';
}

/** Ends at the first value that is not finite: later ones would have no value either. */
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

function chooseBranch(node: CompiledNode, position: number, rule: CompiledRule, plan: Plan): readonly number[] {
  const { frame } = rule;
  const { branches } = node;
  for (let index = 0; index < branches.length; index++) {
    const { run, next } = branches[index] as CompiledBranch;
    const isTrue = run(frame) !== 0;
    if (frame.notFinite) {
      plan.status = 'not-finite';
      return nowhere;
    }
    if (isTrue) {
      plan.taken[position] = index;
      return next;
    }
  }
  plan.taken[position] = -1;
  return node.next;
}

/** A value that is not finite fails its action only; the flag is lowered for what follows. */
function planWrites(writes: readonly CompiledWrite[], rule: CompiledRule, plan: Plan): void {
  const { frame } = rule;
  for (let index = 0; index < writes.length; index++) {
    const write = writes[index] as CompiledWrite;
    const { slot } = write;
    const value = slot >= 0 ? (frame.slots[slot] as number) : write.run(frame);
    const at = plan.writeCount++;
    plan.writes[at] = write;
    plan.values[at] = frame.notFinite ? Number.NaN : value;
    frame.notFinite = false;
  }
}
