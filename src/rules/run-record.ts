/**
 * What the record of a run says beside its actions [rules §7.4]: path, condition, values, details and error,
 * read from the plan right after the evaluation. Paths and details of one and the same outcome are one frozen object,
 * shared by all records that carry it: records are read, never changed.
 */
import type { CompiledNode, CompiledRule } from './compile.ts';
import type { Plan } from './evaluate.ts';
import type { RunError } from './record.ts';

export function errorOf(rule: CompiledRule, plan: Plan, failedActions: number): RunError | null {
  if (plan.status === 'evaluated' && failedActions === 0) return null;
  const last = nodeAt(rule, plan, plan.pathLength - 1).id;
  if (plan.status === 'missing-input') {
    return {
      code: 'missing-input',
      message: `no usable value for ${plan.missing.join(', ')}`,
      missing: [...plan.missing],
      node_id: last,
    };
  }
  if (plan.status === 'not-finite')
    return { code: 'not-finite', message: `node ${last} computed a value that is not finite`, node_id: last };
  return { code: 'action-failed', message: `${failedActions} of ${plan.writeCount} actions failed` };
}

/** Ids of the visited nodes, in order. */
export function pathIds(rule: CompiledRule, plan: Plan): readonly string[] {
  const { lastPath } = rule;
  if (isSamePath(lastPath.positions, plan)) return lastPath.ids;
  lastPath.positions = plan.path.slice(0, plan.pathLength);
  lastPath.ids = Object.freeze(lastPath.positions.map((_, index) => nodeAt(rule, plan, index).id));
  return lastPath.ids;
}

function isSamePath(positions: readonly number[], plan: Plan): boolean {
  if (positions.length !== plan.pathLength) return false;
  for (let index = 0; index < positions.length; index++) if (positions[index] !== plan.path[index]) return false;
  return true;
}

/** Name of the last branch taken; `else` only where it is wired. */
export function matchedCondition(rule: CompiledRule, plan: Plan): string | null {
  for (let index = plan.pathLength - 1; index >= 0; index--) {
    const node = nodeAt(rule, plan, index);
    if (node.branches.length === 0) continue;
    const branch = node.branches[takenAt(plan, index)];
    if (branch !== undefined) return branch.name;
    if (node.next.length > 0 && !endedAt(plan, index)) return 'else';
  }
  return null;
}

/** The values that the run saw, by name; a name declared again shows the later value. */
export function variableValues(rule: CompiledRule, plan: Plan): Record<string, number | null> {
  const values: Record<string, number | null> = {};
  const { slots } = rule.frame;
  for (let index = 0; index < plan.pathLength; index++) {
    const node = nodeAt(rule, plan, index);
    if (plan.status !== 'evaluated' && endedAt(plan, index)) {
      endedValues(node, slots, plan, values);
      break;
    }
    const { declared } = node;
    for (let position = 0; position < declared.length; position++) {
      const declaration = declared[position];
      if (declaration !== undefined) values[declaration.name] = slots[declaration.slot] ?? null;
    }
  }
  return values;
}

/** Values of the node that ended the run: what was missing or not finite is null, what was not reached is left out. */
function endedValues(node: CompiledNode, slots: Float64Array, plan: Plan, values: Record<string, number | null>): void {
  const isMissing = plan.status === 'missing-input';
  for (const { name, slot } of isMissing ? node.reads : node.declared)
    values[name] = isMissing && plan.missing.includes(name) ? null : finiteOrNull(slots[slot]);
}

/** By visited switch: its branches with their results (null where not tried) and the output taken. */
export function nodeDetails(rule: CompiledRule, plan: Plan): Record<string, unknown> {
  const details: Record<string, unknown> = {};
  for (let index = 0; index < plan.pathLength; index++) {
    const node = nodeAt(rule, plan, index);
    if (node.branches.length === 0) continue;
    if (endedAt(plan, index)) details[node.id] = { type: node.type, ended: plan.status };
    else details[node.id] = node.details[takenAt(plan, index) + 1];
  }
  return details;
}

/** What the visited node decided; null for one that decides nothing, and for the one at which the run ended. */
export function outputOf(
  rule: CompiledRule,
  plan: Plan,
  index: number,
): { readonly nodeId: string; readonly output: string } | null {
  const node = nodeAt(rule, plan, index);
  if (node.branches.length === 0 || endedAt(plan, index)) return null;
  return { nodeId: node.id, output: node.branches[takenAt(plan, index)]?.name ?? 'else' };
}

/** The branch taken at a visited switch; -1 for `else`. */
function takenAt(plan: Plan, index: number): number {
  return plan.taken[plan.path[index] ?? -1] ?? -1;
}

/** True for the node at which the run ended early. */
function endedAt(plan: Plan, index: number): boolean {
  return plan.status !== 'evaluated' && index === plan.pathLength - 1;
}

function nodeAt(rule: CompiledRule, plan: Plan, index: number): CompiledNode {
  const node = rule.nodes[plan.path[index] ?? -1];
  if (node === undefined) throw new Error('the plan is of another rule');
  return node;
}

function finiteOrNull(value: number | undefined): number | null {
  return value !== undefined && value - value === 0 ? value : null;
}
