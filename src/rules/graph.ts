/**
 * From parsed nodes to a validated topology [rules §4.1]: one start, an end, connected wires, no cycle,
 * bounded depth, every variable declared on every path to its use; and warnings about unused parts.
 */

import { didYouMean, nearestName } from '../base/nearest-name.ts';
import type { Steps } from '../base/turns.ts';
import type { ExpressionNode } from './expression/parse.ts';
import { type Issue, Issues, pointerPart } from './issues.ts';
import type { FlowLimits } from './limits.ts';
import { nodeKind, type TopologyNode } from './node/index.ts';
import type { NodeParts } from './node/parts.ts';
import { comparisonsMaximum, implies } from './shadowed.ts';
import { sureRuns } from './surely-run.ts';
import type { Topology } from './topology.ts';

export interface ParsedNode {
  readonly id: string;
  readonly node: TopologyNode;
  /** JSON Pointer of the node in the document, and of the object that holds its content and wires. */
  readonly path: string;
  readonly contentPath: string;
}

/** Unreadable parts of the document: an issue exists already, and no further error is reported for them. */
export interface Unread {
  /** Nodes by id, with their declared types. */
  readonly nodes: ReadonlyMap<string, unknown>;
  /** Variables declared in a refused part of some node. */
  readonly names: ReadonlySet<string>;
}

/** Validates the graph and orders it; adds issues, and returns undefined if there is no order. */
export function* buildTopology(
  nodes: readonly ParsedNode[],
  unread: Unread,
  limits: FlowLimits,
  issues: Issues,
  warnings: Issue[],
): Steps<Topology | undefined> {
  const byId = new Map(nodes.map((parsed) => [parsed.id, parsed]));
  const starts = nodes.filter(({ node }) => node.type === 'start');
  const [start] = starts;
  const unreadTypes = new Set(unread.nodes.values());
  if (start === undefined && !unreadTypes.has('start'))
    issues.add('no-start', '/nodes', 'the flow has no start node', 'add one node of type start');
  for (const other of starts.slice(1)) {
    issues.add('several-starts', other.path, 'the flow has more than one start node', 'keep one', other.id);
  }
  if (!nodes.some(({ node }) => node.type === 'end') && !unreadTypes.has('end')) {
    const hint = 'add one node of type end and wire the last nodes to it';
    issues.add('no-end', '/nodes', 'the flow has no end node', hint);
  }
  checkWires(nodes, byId, unread, issues);
  const order = topologicalOrder(nodes, byId, issues);
  if (order === undefined || start === undefined) return undefined;
  checkDepth(order, byId, limits, issues);
  const reachable = reachableFrom(start.id, byId);
  yield* checkVariables(order, start.id, reachable, unread, issues);
  checkWindows(order, limits, issues);
  warnings.push(...(yield* graphWarnings(order, reachable, issues)));
  const ordered = new Map(order.map((parsed) => [parsed.id, parsed.node]));
  return { start_node: start.id, nodes: ordered, formulas: issues.formulas };
}

/** Ids of the nodes that are reachable from `start`. */
export function reachableFrom(start: string, nodes: ReadonlyMap<string, { readonly node: TopologyNode }>): Set<string> {
  const found = new Set([start]);
  for (const id of found) {
    for (const target of targetsOf(nodes.get(id)?.node)) if (nodes.has(target)) found.add(target);
  }
  return found;
}

function targetsOf(node: TopologyNode | undefined): readonly string[] {
  return node === undefined ? [] : Object.values(node.wires).flat();
}

function checkWires(
  nodes: readonly ParsedNode[],
  byId: ReadonlyMap<string, ParsedNode>,
  unread: Unread,
  issues: Issues,
): void {
  for (const { id, node, contentPath } of nodes) {
    for (const [output, targets] of Object.entries(node.wires)) {
      const path = `${contentPath}/wires/${pointerPart(output)}`;
      targets.forEach((target, index) => {
        const next = byId.get(target);
        const at = `${path}/${index}`;
        if (next === undefined) {
          if (!unread.nodes.has(target))
            issues.add('dangling-wire', at, `unknown node '${target}'`, 'wire to the id of a node of this flow', id);
        } else if (next.node.type === 'start')
          issues.add('wire-to-start', at, 'nothing may lead to the start node', 'wire to a later node', id);
        if (targets.indexOf(target) !== index)
          issues.add('duplicate-wire', at, `duplicate wire to '${target}' in '${output}'`, 'name it once', id);
      });
    }
  }
}

/** Kahn's algorithm, taking the smallest id by code unit among those that are free, so that the order is unique. */
function topologicalOrder(
  nodes: readonly ParsedNode[],
  byId: ReadonlyMap<string, ParsedNode>,
  issues: Issues,
): ParsedNode[] | undefined {
  const waitingFor = new Map(nodes.map(({ id }) => [id, 0]));
  for (const { node } of nodes)
    for (const target of new Set(targetsOf(node))) waitingFor.set(target, (waitingFor.get(target) ?? 0) + 1);
  const free = nodes.filter(({ id }) => waitingFor.get(id) === 0).map(({ id }) => id);
  const order: ParsedNode[] = [];
  while (free.length > 0) {
    free.sort(byCodeUnit);
    const parsed = byId.get(free.shift() ?? '');
    if (parsed === undefined) throw new Error('free node is not of the flow');
    order.push(parsed);
    for (const target of new Set(targetsOf(parsed.node))) {
      const left = (waitingFor.get(target) ?? 0) - 1;
      waitingFor.set(target, left);
      if (left === 0 && byId.has(target)) free.push(target);
    }
  }
  if (order.length === nodes.length) return order;
  const done = new Set(order.map(({ id }) => id));
  const stuck = nodes.filter(({ id }) => !done.has(id));
  // Every node of a cycle is named once; nodes merely downstream of one are not errors.
  for (const parsed of stuck.filter((candidate) => leadsTo(candidate, candidate.id, byId))) {
    const hint = 'a flow runs once from start to end; remove one wire of the cycle';
    issues.add('cycle', parsed.path, `node '${parsed.id}' leads back to itself`, hint, parsed.id);
  }
  return undefined;
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function leadsTo(from: ParsedNode, id: string, byId: ReadonlyMap<string, ParsedNode>): boolean {
  const found = new Set(targetsOf(from.node));
  for (const next of found) {
    if (next === id) return true;
    for (const target of targetsOf(byId.get(next)?.node)) found.add(target);
  }
  return false;
}

function checkDepth(
  order: readonly ParsedNode[],
  byId: ReadonlyMap<string, ParsedNode>,
  limits: FlowLimits,
  issues: Issues,
): void {
  const depth = new Map<string, number>();
  for (const parsed of order) {
    const own = depth.get(parsed.id) ?? 1;
    if (own === limits.depthMaximum + 1) {
      const message = `node '${parsed.id}' is more than ${limits.depthMaximum} nodes deep`;
      issues.add('too-deep', parsed.path, message, 'split the rule in two', parsed.id);
    }
    for (const target of targetsOf(parsed.node))
      if (byId.has(target)) depth.set(target, Math.max(depth.get(target) ?? 1, own + 1));
  }
}

interface Use {
  readonly name: string;
  readonly path: string;
}

interface Step {
  readonly uses: readonly Use[];
  readonly declares: string | undefined;
}

/** The declarations and uses of a node, in order of execution. */
function steps({ node, contentPath }: ParsedNode, issues: Issues): Step[] {
  const { variables, parameters, assignments, branches, writes }: NodeParts = node;
  const computed = nodeKind(node.type).computed?.(node);
  const result: Step[] = [];
  const step = (part: object, text: number | string, declares?: string): void => {
    const parsed = typeof text === 'string' ? issues.formulas.of(text) : undefined;
    const path = placeOf(part, issues).expression;
    const uses = parsed?.ok ? parsed.expression.variables.map((name) => ({ name, path })) : [];
    result.push({ uses, declares });
  };
  for (const { name } of [...(variables ?? []), ...(parameters ?? [])]) result.push({ uses: [], declares: name });
  for (const part of assignments ?? []) step(part, part.expression, part.name);
  for (const branch of branches ?? []) step(branch, branch.when);
  if (computed !== undefined) {
    const { name, input, field } = computed;
    result.push({ uses: [{ name: input, path: `${contentPath}/${field}` }], declares: name });
  }
  for (const write of writes ?? []) step(write, write.value);
  return result;
}

/** Path of a part of a node in the document, and its expression. */
function placeOf(part: object, issues: Issues): { readonly part: string; readonly expression: string } {
  const place = issues.places.get(part);
  if (place === undefined) throw new Error('a reader made a part of a node without its position');
  return { part: place.path, expression: `${place.path}/${place.field}` };
}

/** Windows are in memory and written to the disk: their total per rule is limited [rules §5.2]. */
function checkWindows(order: readonly ParsedNode[], limits: FlowLimits, issues: Issues): void {
  let samples = 0;
  for (const parsed of order) {
    const before = samples;
    for (const text of expressionsOf(parsed.node)) {
      const formula = issues.formulas.of(text);
      if (formula.ok) samples += formula.expression.windowSamples;
    }
    if (before > limits.windowSamplesMaximum || samples <= limits.windowSamplesMaximum) continue;
    const message = `the windows of moving_avg hold ${samples} samples up to this node; at most ${limits.windowSamplesMaximum} are allowed in a rule`;
    const hint = 'make the windows smaller, or run the rule less often';
    issues.add('windows-too-large', parsed.contentPath, message, hint, parsed.id);
  }
}

function expressionsOf({ assignments = [], branches = [], writes = [] }: NodeParts): string[] {
  const texts = [
    ...assignments.map(({ expression }) => expression),
    ...branches.map(({ when }) => when),
    ...writes.map(({ value }) => value),
  ];
  return texts.filter((text) => typeof text === 'string');
}

/** A variable must be declared on every path to its use, and at most once in one node. */
function* checkVariables(
  order: readonly ParsedNode[],
  start: string,
  reachable: ReadonlySet<string>,
  unread: Unread,
  issues: Issues,
): Steps<void> {
  const runs = sureRuns(order, start);
  /** By name: positions of the nodes that declare it, as bits. */
  const declaring = new Map<string, bigint>();
  const contents: (readonly Step[])[] = [];
  for (const [position, parsed] of order.entries()) {
    const content = steps(parsed, issues);
    contents.push(content);
    for (const { declares } of content)
      if (declares !== undefined) declaring.set(declares, (declaring.get(declares) ?? 0n) | (1n << BigInt(position)));
    yield;
  }
  const names = [...declaring.keys()];
  for (const [position, parsed] of order.entries()) {
    if (!reachable.has(parsed.id)) continue;
    const ran = runs.before[position] ?? 0n;
    // Each branch may declare the name in a node of its own: checked only if no single node certainly does.
    const isDeclared = (name: string): boolean => {
      const places = declaring.get(name) ?? 0n;
      if ((places & ran) !== 0n) return true;
      return places !== 0n && runs.anyBefore(position, (other) => ((places >> BigInt(other)) & 1n) === 1n);
    };
    checkNodeVariables(parsed, contents[position] ?? [], { isDeclared, names }, unread, issues);
    yield;
  }
}

interface Declared {
  /** The names that are declared on arrival at the node. */
  readonly isDeclared: (name: string) => boolean;
  /** Everything that some node declares. */
  readonly names: readonly string[];
}

/** Uses and declarations of one node, in order. */
function checkNodeVariables(
  parsed: ParsedNode,
  content: readonly Step[],
  { isDeclared, names }: Declared,
  unread: Unread,
  issues: Issues,
): void {
  const own = new Set<string>();
  for (const { uses, declares } of content) {
    for (const { name, path } of uses) {
      if (issues.isFull || own.has(name) || unread.names.has(name) || isDeclared(name)) continue;
      const message = `variable '${name}' is not declared on every path to node '${parsed.id}'`;
      const meant = nearestName(name, names);
      const hint =
        meant === undefined || meant === name
          ? 'declare it on every path to this node, for example in an input or calculation node before it'
          : didYouMean(meant);
      issues.add('undeclared-variable', path, message, hint, parsed.id);
    }
    if (declares === undefined) continue;
    if (own.has(declares)) {
      const message = `variable '${declares}' is declared twice in node '${parsed.id}'`;
      const hint = 'give the second one another name';
      issues.add('duplicate-variable', parsed.contentPath, message, hint, parsed.id);
    }
    own.add(declares);
  }
}

function* graphWarnings(order: readonly ParsedNode[], reachable: ReadonlySet<string>, issues: Issues): Steps<Issue[]> {
  const warnings = new Issues();
  const budget = { comparisons: comparisonsMaximum };
  for (const parsed of order) {
    const { id, path } = parsed;
    const node: NodeParts = parsed.node;
    if (!reachable.has(id))
      warnings.add(
        'unreachable-node',
        path,
        `no wire leads from start to node '${id}'; it never runs`,
        'wire it or remove it',
        id,
      );
    if (node.branches === undefined) continue;
    yield;
    const earlier: ExpressionNode[] = [];
    for (const branch of node.branches) {
      const at = placeOf(branch, issues).part;
      const wires = Object.hasOwn(node.wires, branch.name) ? (node.wires[branch.name] ?? []) : [];
      if (wires.length === 0) {
        const message = `branch '${branch.name}' leads nowhere; the run ends there`;
        warnings.add('branch-without-wire', at, message, 'wire it to an end node if this is intended', id);
      }
      const parsedWhen = issues.formulas.of(branch.when);
      if (!parsedWhen.ok) continue;
      const { root } = parsedWhen.expression;
      if (earlier.some((condition) => implies(root, condition, budget))) {
        const message = `branch '${branch.name}' is never taken: an earlier branch is true whenever it is`;
        warnings.add('shadowed-branch', at, message, 'put the narrower condition first', id);
      }
      earlier.push(root);
    }
  }
  return warnings.list;
}
