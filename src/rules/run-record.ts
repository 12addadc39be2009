/**
 * The record of a run without its actions [rules §7.4]: path, condition, values, details and error, read from the plan right
 * after the evaluation. The common part of runs along the same nodes is one frozen object, shared by all their records: records
 * are read, never changed.
 */
import type { CompiledNode, CompiledRule, Trail } from './compile.ts';
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

/** How many trails of a rule are kept; a rule with more of them makes the oldest again. */
const trailsKept = 8;

/** The trail of the plan: one object for all equal ones, as long as it is kept. */
export function trailOf(rule: CompiledRule, plan: Plan): Trail {
  const { trails } = rule;
  for (let index = trails.length - 1; index >= 0; index--) {
    const trail = trails[index];
    if (trail !== undefined && isAlong(trail, plan)) return trail;
  }
  const trail = newTrail(rule, plan);
  if (trails.length === trailsKept) trails.shift();
  trails.push(trail);
  return trail;
}

function isAlong({ status, positions, switches, taken }: Trail, plan: Plan): boolean {
  if (status !== plan.status || positions.length !== plan.pathLength) return false;
  for (let index = 0; index < positions.length; index++) if (positions[index] !== plan.path[index]) return false;
  for (let index = 0; index < switches.length; index++)
    if (taken[index] !== plan.taken[switches[index] as number]) return false;
  return true;
}

function newTrail(rule: CompiledRule, plan: Plan): Trail {
  const positions = plan.path.slice(0, plan.pathLength);
  const nodes = positions.map((_, index) => nodeAt(rule, plan, index));
  const visited = nodes.flatMap((node, index) => (node.branches.length === 0 ? [] : [{ node, index }]));
  const switches = visited.flatMap(({ index }) => (endedAt(plan, index) ? [] : (positions[index] ?? [])));
  return {
    status: plan.status,
    positions,
    switches,
    taken: switches.map((position) => plan.taken[position] ?? -1),
    path: Object.freeze(nodes.map(({ id }) => id)),
    matched: matchedCondition(visited, plan),
    details: Object.freeze(
      Object.fromEntries(visited.map(({ node, index }) => [node.id, detailsOf(node, plan, index)])),
    ),
    declared: nodes.filter((_, index) => !endedAt(plan, index)).flatMap(({ declared }) => declared),
  };
}

interface VisitedSwitch {
  readonly node: CompiledNode;
  readonly index: number;
}

/** Name of the last branch taken; `else` only where it is wired. */
function matchedCondition(visited: readonly VisitedSwitch[], plan: Plan): string | null {
  for (const { node, index } of visited.toReversed()) {
    const branch = node.branches[takenAt(plan, index)];
    if (branch !== undefined) return branch.name;
    if (node.next.length > 0 && !endedAt(plan, index)) return 'else';
  }
  return null;
}

/** Of a visited switch: its branches with their results (null where not tried) and the output taken. */
function detailsOf(node: CompiledNode, plan: Plan, index: number): unknown {
  if (endedAt(plan, index)) return Object.freeze({ type: node.type, ended: plan.status });
  return node.details[takenAt(plan, index) + 1];
}

/** The values that the run saw, by name; a name declared again shows the later value. */
export function variableValues(
  rule: CompiledRule,
  plan: Plan,
  trail = trailOf(rule, plan),
): Record<string, number | null> {
  const values: Record<string, number | null> = {};
  const { slots } = rule.frame;
  const { declared } = trail;
  for (let index = 0; index < declared.length; index++) {
    const declaration = declared[index];
    if (declaration !== undefined) values[declaration.name] = slots[declaration.slot] ?? null;
  }
  if (plan.status !== 'evaluated') endedValues(nodeAt(rule, plan, plan.pathLength - 1), slots, plan, values);
  return values;
}

/** Values of the node that ended the run: what was missing or not finite is null, what was not reached is left out. */
function endedValues(node: CompiledNode, slots: Float64Array, plan: Plan, values: Record<string, number | null>): void {
  const isMissing = plan.status === 'missing-input';
  for (const { name, slot } of isMissing ? node.reads : node.declared)
    values[name] = isMissing && plan.missing.includes(name) ? null : finiteOrNull(slots[slot]);
}

/** The decision of the visited node; null for a node that decides nothing, and for the one at which the run ended. */
export function outputOf(
  rule: CompiledRule,
  plan: Plan,
  index: number,
): { readonly nodeId: string; readonly output: string } | null {
  const node = nodeAt(rule, plan, index);
  if (node.branches.length === 0 || endedAt(plan, index)) return null;
  return { nodeId: node.id, output: node.branches[takenAt(plan, index)]?.name ?? 'else' };
}

/** The branch taken at a visited switch; -1 for `else`, and where nothing was decided. */
function takenAt(plan: Plan, index: number): number {
  return endedAt(plan, index) ? -1 : (plan.taken[plan.path[index] ?? -1] ?? -1);
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
