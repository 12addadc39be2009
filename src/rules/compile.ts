/**
 * Topology to compiled rule [rules §4.7], [rules §5.1]: every name becomes a slot, every reference a position, every
 * expression a closure, once. The topology was validated when it was stored; an inconsistency here is a bug.
 *
 * Each declaration has a slot of its own. Where several declarations of one name can reach a use, the last one in
 * topological order that ran is read, so that a name declared again shadows from there on, and only there.
 */
import { atOnce, type Steps } from '../base/turns.ts';
import type { PointFacts, PointRef, SiteCatalogue } from '../site/catalogue.ts';
import type { CommandSource } from '../site/command-port.ts';
import { createSnapshot } from '../site/snapshot.ts';
import { compileExpression, type ExpressionScope, type Frame, folded, type Run, slotOf } from './expression/compile.ts';
import type { ExpressionNode, Formulas } from './expression/parse.ts';
import { idempotentFunctions } from './expression/stateful.ts';
import { reachableFrom } from './graph.ts';
import { type NodeType, nodeKind, type TopologyNode } from './node/index.ts';
import type { Computed } from './node/kind.ts';
import { type Assignment, maxAgeOf, type NodeParts, otherwiseOf, type VariableRead, type Write } from './node/parts.ts';
import { createRuleState, fingerprint, type SiteFacts } from './state.ts';
import type { Topology } from './topology.ts';

export interface RuleSource {
  readonly id: number;
  readonly revision: number;
  readonly priority: number;
  /** The rule's own period: `interval_ms`, or its equivalent for other triggers. */
  readonly periodMs: number;
}

/** A gap of more periods than this ends continuity of stateful functions [rules §5.2]. */
const gapPeriods = 5;

export interface CompiledRead {
  readonly name: string;
  readonly slot: number;
  readonly pointIndex: number;
  readonly maxAgeMs: number;
}
interface CompiledParameter {
  readonly name: string;
  readonly slot: number;
}
export interface CompiledAssignment {
  readonly name: string;
  readonly slot: number;
  readonly run: Run;
}
export interface CompiledBranch {
  readonly name: string;
  readonly run: Run;
  readonly next: readonly number[];
}
export interface CompiledWrite {
  readonly nodeId: string;
  readonly point: PointFacts;
  /** Slot of the value if it is a constant or a plain variable, else -1. */
  readonly slot: number;
  readonly run: Run;
  /** Cache: the last requested value, and the value after limits and rounding: most runs repeat the previous write. */
  readonly latest: { asked: number; settled: number | null };
}
/** The record's details of a switch, by output. */
interface SwitchDetails {
  readonly type: NodeType;
  /** `result` is null for a branch that was not evaluated. */
  readonly branches: readonly { readonly name: string; readonly result: boolean | null }[];
  readonly output: string;
}

export interface CompiledNode {
  readonly id: string;
  readonly type: NodeType;
  /** True if there is work before branches and writes: reads, assignments or call sites. */
  readonly prepares: boolean;
  /** True if the node only passes on. */
  readonly isIdle: boolean;
  /** True if running it again on unchanged inputs gives the same result and changes no state. */
  readonly isSteady: boolean;
  readonly reads: readonly CompiledRead[];
  /** Their slots are filled when the rule is compiled. */
  readonly parameters: readonly CompiledParameter[];
  readonly assignments: readonly CompiledAssignment[];
  /** All that the node declares: reads, parameters and assignments, in order. */
  readonly declared: readonly { readonly name: string; readonly slot: number }[];
  /** Stateful call sites of branches and writes, in order; those of an assignment belong to its `run`. */
  readonly before: readonly Advance[];
  readonly branches: readonly CompiledBranch[];
  readonly writes: readonly CompiledWrite[];
  /** Targets of the output without a true branch. */
  readonly next: readonly number[];
  /** For a switch: `else` first, then by branch. */
  readonly details: readonly SwitchDetails[];
}

/** How the state of a call site follows from two variables of a run. */
interface Recall {
  readonly site: number;
  readonly input: string;
  readonly output: string;
  readonly memoryAfter: Computed['memoryAfter'];
}

export type EvaluationStatus = 'evaluated' | 'missing-input' | 'not-finite';

/** The common part of all runs with the same nodes, decisions and end. */
export interface Trail {
  readonly status: EvaluationStatus;
  readonly positions: readonly number[];
  /** The switches among them with a decision, and their branches; -1 for `else`. */
  readonly switches: readonly number[];
  readonly taken: readonly number[];
  readonly path: readonly string[];
  readonly matched: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  /** The names that the visited nodes declare, in order, without the node that ended the run. */
  readonly declared: CompiledNode['declared'];
}

export interface CompiledRule {
  readonly id: number;
  readonly revision: number;
  readonly priority: number;
  /** The writer in its commands. */
  readonly writer: CommandSource;
  readonly nodes: readonly CompiledNode[];
  /** True if no output has more than one target, and no value depends on which nodes were reached. */
  readonly isPath: boolean;
  readonly sites: readonly SiteFacts[];
  /** Nodes that compute a value themselves: their state can be derived from a recorded run. */
  readonly recalls: readonly Recall[];
  /** Every point read, for `GET …/variables`. */
  readonly readPoints: readonly {
    readonly nodeId: string;
    readonly name: string;
    readonly pointIndex: number;
    readonly maxAgeMs: number;
  }[];
  /** Indexes of every point written. */
  readonly writtenPoints: readonly number[];
  readonly frame: Frame;
  /** Cached trails of the latest runs, shared by equal records. */
  readonly trails: Trail[];
}

type Advance = (frame: Frame) => void;

interface Declaration {
  readonly node: number;
  readonly slot: number;
}

export function compileRule(source: RuleSource, topology: Topology, catalogue: SiteCatalogue): CompiledRule {
  return atOnce(compileSteps(source, topology, catalogue));
}

/** As `compileRule`, one step per node. */
export function* compileSteps(source: RuleSource, topology: Topology, catalogue: SiteCatalogue): Steps<CompiledRule> {
  const reachable = reachableFrom(
    topology.start_node,
    new Map([...topology.nodes].map(([id, node]) => [id, { node }])),
  );
  // Unreachable nodes never run; without them, the start node comes first in topological order.
  const live = new Map([...topology.nodes].filter(([id]) => reachable.has(id)));
  const binding = new Binding({ ...topology, nodes: live }, catalogue);
  const nodes: CompiledNode[] = [];
  for (const [id, node] of live) {
    nodes.push(binding.compileNode(id, node, nodes.length));
    yield;
  }
  const sites = binding.sites;
  const frame: Frame = {
    snapshot: createSnapshot(0),
    slots: binding.initialSlots(),
    run: 0,
    reached: new Uint32Array(nodes.length),
    calls: new Float64Array(sites.length),
    sites: createRuleState({ sites }),
    gapMs: gapPeriods * source.periodMs,
    notFinite: false,
  };
  return {
    id: source.id,
    revision: source.revision,
    priority: source.priority,
    writer: { kind: 'rule', id: String(source.id) },
    nodes,
    isPath: !binding.shadows && nodes.every((node) => [node, ...node.branches].every(({ next }) => next.length <= 1)),
    sites,
    recalls: binding.recalls,
    readPoints: nodes.flatMap((node) =>
      node.reads.map((read) => ({
        nodeId: node.id,
        name: read.name,
        pointIndex: read.pointIndex,
        maxAgeMs: read.maxAgeMs,
      })),
    ),
    writtenPoints: [...new Set(nodes.flatMap((node) => node.writes.map((write) => write.point.index)))],
    frame,
    trails: [],
  };
}

class Binding {
  readonly sites: SiteFacts[] = [];
  readonly recalls: Recall[] = [];
  /** True if several declarations of a name reach one use. */
  shadows = false;
  #slots = 0;
  /** Whether an expression of the current node reads the clock. */
  #readsClock = false;
  /** Constants have slots of their own, so that operands are uniform. */
  readonly #constants = new Map<number, number>();
  /** Of parameters, by slot. */
  readonly #parameters = new Map<number, number>();
  readonly #catalogue: SiteCatalogue;
  readonly #formulas: Formulas;
  readonly #position: ReadonlyMap<string, number>;
  /** By node position: positions of all nodes upstream. */
  readonly #upstream: readonly ReadonlySet<number>[];
  readonly #declared = new Map<string, Declaration[]>();

  constructor(topology: Topology, catalogue: SiteCatalogue) {
    this.#catalogue = catalogue;
    this.#formulas = topology.formulas;
    this.#position = new Map([...topology.nodes.keys()].map((id, index) => [id, index]));
    this.#upstream = upstreamOf(topology, this.#position);
  }

  /** Slots with constants and parameters filled in; call it when all nodes are compiled. */
  initialSlots(): Float64Array {
    const slots = new Float64Array(this.#slots);
    for (const [value, slot] of this.#constants) slots[slot] = value;
    for (const [slot, value] of this.#parameters) slots[slot] = value;
    return slots;
  }

  compileNode(id: string, node: TopologyNode, position: number): CompiledNode {
    const before: Advance[] = [];
    const earlierSites = this.sites.length;
    this.#readsClock = false;
    const { wires: _, ...content } = node;
    const scope = this.#scope(id, fingerprint(JSON.stringify(content)), position, before);
    const parts: NodeParts = node;
    const reads = (parts.variables ?? []).map((read) => this.#read(read, position));
    const parameters = (parts.parameters ?? []).map((entry) => this.#parameter(entry, position));
    const assignments = (parts.assignments ?? []).map((part) => this.#assignment(part, position, scope, before));
    const computed = nodeKind(node.type).computed?.(node);
    if (computed !== undefined) assignments.push(this.#computed(computed, node.type, position, scope));
    const branches = (parts.branches ?? []).map((branch) => ({
      name: branch.name,
      run: this.#expression(branch.when, scope),
      next: this.#targets(node, branch.name),
    }));
    const writes = (parts.writes ?? []).map((write) => this.#write(write, id, scope));
    const next = this.#targets(node, otherwiseOf(node));
    const declared = [...reads, ...parameters, ...assignments].map(({ name, slot }) => ({ name, slot }));
    const details = branches.length === 0 ? [] : switchDetails(node.type, branches);
    const prepares = reads.length + assignments.length + before.length > 0;
    return {
      id,
      type: node.type,
      prepares,
      isIdle: !prepares && branches.length + writes.length === 0,
      isSteady: !this.#readsClock && this.sites.slice(earlierSites).every(({ kind }) => idempotentFunctions.has(kind)),
      reads,
      parameters,
      assignments,
      declared,
      before,
      branches,
      writes,
      next,
      details,
    };
  }

  #parsed(text: string): ExpressionNode {
    const result = this.#formulas.of(text);
    if (!result.ok) throw new Error(`stored expression does not parse: ${result.issue.message}`);
    return result.expression.root;
  }

  #expression(text: string, scope: ExpressionScope): Run {
    return compileExpression(folded(this.#parsed(text), scope), scope);
  }

  #targets(node: NodeParts, output: string): number[] {
    const ids = Object.hasOwn(node.wires, output) ? (node.wires[output] ?? []) : [];
    return ids.map((id) => {
      const position = this.#position.get(id);
      if (position === undefined) throw new Error(`wire to unknown node ${id}`);
      return position;
    });
  }

  #point(ref: PointRef): PointFacts {
    const point = this.#catalogue.point(ref);
    if (point === undefined) throw new Error(`unknown point ${ref.instance}:${ref.point_type}:${ref.point}`);
    return point;
  }

  #declare(name: string, node: number): number {
    const slot = this.#slots++;
    const known = this.#declared.get(name);
    if (known === undefined) this.#declared.set(name, [{ node, slot }]);
    else known.push({ node, slot });
    return slot;
  }

  #read(read: VariableRead, position: number): CompiledRead {
    const point = this.#point(read);
    const slot = this.#declare(read.name, position);
    return { name: read.name, slot, pointIndex: point.index, maxAgeMs: maxAgeOf(read, point) };
  }

  #parameter(entry: { name: string; parameter: string }, position: number): CompiledParameter {
    const parameter = this.#catalogue.parameter(entry.parameter);
    if (parameter === undefined) throw new Error(`unknown parameter ${entry.parameter}`);
    const slot = this.#declare(entry.name, position);
    this.#parameters.set(slot, parameter.value);
    return { name: entry.name, slot };
  }

  /**
   * The call sites of an assignment advance right before it and not at the start of the node, because they may read
   * what an earlier assignment of the node has computed.
   */
  #assignment(assignment: Assignment, position: number, scope: ExpressionScope, before: Advance[]): CompiledAssignment {
    // The expression is bound first: it may read an outer declaration of the very name.
    const value = this.#expression(assignment.expression, scope);
    const run = advancing(before.splice(0), value);
    return { name: assignment.name, slot: this.#declare(assignment.name, position), run };
  }

  #write(write: Write, nodeId: string, scope: ExpressionScope): CompiledWrite {
    const root = typeof write.value === 'number' ? numberNode(write.value) : folded(this.#parsed(write.value), scope);
    const slot = slotOf(root, scope) ?? -1;
    const latest = { asked: Number.NaN, settled: null };
    return { nodeId, point: this.#point(write), slot, run: compileExpression(root, scope), latest };
  }

  #computed(
    computed: Computed,
    type: NodeType,
    position: number,
    scope: ExpressionScope & HasSite,
  ): CompiledAssignment {
    const input = compileExpression({ kind: 'variable', name: computed.input }, scope);
    const site = scope.ownSite(type);
    const { timezone } = this.#catalogue;
    this.recalls.push({ site, input: computed.input, output: computed.name, memoryAfter: computed.memoryAfter });
    const run: Run = (frame) => {
      const memory = frame.sites[site];
      if (memory === undefined) throw new Error(`node memory ${site} has no state`);
      return computed.value(input(frame), memory, frame.snapshot.wallMs, timezone);
    };
    return { name: computed.name, slot: this.#declare(computed.name, position), run };
  }

  #scope(nodeId: string, content: string, position: number, before: Advance[]): ExpressionScope & HasSite {
    let ordinal = 0;
    const ownSite = (kind: SiteFacts['kind']): number =>
      this.sites.push({ nodeId, content, ordinal: ordinal++, kind }) - 1;
    return {
      clock: () => {
        this.#readsClock = true;
        return this.#catalogue.timezone;
      },
      variable: (name) => this.#variable(name, position),
      parameter: (name) => {
        const bound = this.#variable(name, position);
        return typeof bound === 'number' ? this.#parameters.get(bound) : undefined;
      },
      constant: (value) => this.#constant(value),
      site: ownSite,
      ownSite,
      before: (advance) => void before.push(advance),
    };
  }

  #constant(value: number): number {
    const slot = this.#constants.get(value) ?? this.#slots++;
    this.#constants.set(value, slot);
    return slot;
  }

  /** The slot of the declaration of `name` that holds at node `position`, or what finds it at run time. */
  #variable(name: string, position: number): number | Run {
    const upstream = this.#upstream[position];
    const reaching = (this.#declared.get(name) ?? []).filter(({ node }) => node === position || upstream?.has(node));
    const last = reaching.at(-1);
    if (last === undefined) throw new Error(`variable ${name} is not declared at its use`);
    if (reaching.length === 1 || last.node === position) return last.slot;
    this.shadows = true;
    return (frame) => {
      for (let index = reaching.length - 1; index >= 0; index--) {
        const declaration = reaching[index];
        // Declarations lie upstream: one that was reached has run.
        if (declaration !== undefined && frame.reached[declaration.node] === frame.run)
          return frame.slots[declaration.slot] ?? Number.NaN;
      }
      throw new Error(`no declaration of ${name} ran`);
    };
  }
}

interface HasSite {
  ownSite(kind: SiteFacts['kind']): number;
}

function upstreamOf(topology: Topology, positions: ReadonlyMap<string, number>): ReadonlySet<number>[] {
  const upstream = [...topology.nodes].map(() => new Set<number>());
  // Topological order: when a node is visited, its own set is complete.
  for (const [id, node] of topology.nodes) {
    const from = positions.get(id) ?? 0;
    for (const target of Object.values(node.wires).flat()) {
      const set = upstream[positions.get(target) ?? 0];
      set?.add(from);
      for (const further of upstream[from] ?? []) set?.add(further);
    }
  }
  return upstream;
}

function numberNode(value: number): ExpressionNode {
  return { kind: 'number', value };
}

/** `run`, preceded by the call sites that it reads. */
function advancing(sites: readonly Advance[], run: Run): Run {
  if (sites.length === 0) return run;
  return (frame) => {
    for (let index = 0; index < sites.length; index++) sites[index]?.(frame);
    return run(frame);
  };
}

function switchDetails(type: NodeType, declared: readonly { readonly name: string }[]): readonly SwitchDetails[] {
  return [-1, ...declared.keys()].map((taken) => {
    const branches = declared.map(({ name }, position) =>
      Object.freeze({ name, result: position === taken ? true : taken === -1 || position < taken ? false : null }),
    );
    return Object.freeze({ type, branches: Object.freeze(branches), output: declared[taken]?.name ?? 'else' });
  });
}
