/**
 * The execution topology (`nodes_json`, [rules §4.7]): what is left of a flow when positions, labels and
 * drawing are discarded. Both dialects parse into it; the executor compiles it.
 */
import type { PointRef } from '../site/catalogue.ts';
import type { Formulas } from './expression/parse.ts';

/** Output name -> ids of the next nodes. */
export type Wires = Readonly<Record<string, readonly string[]>>;

export interface VariableRead extends PointRef {
  readonly name: string;
  readonly max_age_ms?: number;
}

/** How old a read may be: the point's own limit, or the read's where that is stricter. */
export function maxAgeOf(read: VariableRead, point: { readonly maxAgeMs: number }): number {
  return Math.min(point.maxAgeMs, read.max_age_ms ?? Number.POSITIVE_INFINITY);
}

export interface ParameterRead {
  readonly name: string;
  readonly parameter: string;
}
export interface Assignment {
  readonly name: string;
  readonly expression: string;
}
export interface Branch {
  readonly name: string;
  readonly when: string;
}
export interface Write extends PointRef {
  /** A constant, or an expression. */
  readonly value: number | string;
}

/**
 * Reads and formulas of a second-dialect node, done in this order before the node's own work; never present in a
 * node that came from the native dialect.
 */
interface Prelude {
  readonly variables?: readonly VariableRead[];
  readonly assignments?: readonly Assignment[];
}

export interface StartNode {
  readonly type: 'start';
  readonly wires: Wires;
}
export interface InputNode {
  readonly type: 'input';
  readonly variables: readonly VariableRead[];
  readonly parameters: readonly ParameterRead[];
  readonly wires: Wires;
}
export interface SwitchNode extends Prelude {
  readonly type: 'switch';
  readonly branches: readonly Branch[];
  readonly wires: Wires;
}
export interface ChangeNode extends Prelude {
  readonly type: 'change';
  readonly writes: readonly Write[];
  readonly wires: Wires;
}
export interface CalculationNode {
  readonly type: 'calculation';
  readonly variables?: readonly VariableRead[];
  readonly assignments: readonly Assignment[];
  /** Second dialect: an output that names a declared point variable also writes it, after all assignments. */
  readonly writes?: readonly Write[];
  readonly wires: Wires;
}
export interface PeriodDeltaNode {
  readonly type: 'period-delta';
  readonly variables?: readonly VariableRead[];
  readonly input: string;
  readonly period: 'daily' | 'weekly' | 'monthly' | 'quarterly';
  readonly timezone?: string;
  readonly name: string;
  readonly writes?: readonly Write[];
  readonly wires: Wires;
}
export interface EndNode {
  readonly type: 'end';
  readonly wires: Wires;
}

export type TopologyNode =
  | StartNode
  | InputNode
  | SwitchNode
  | ChangeNode
  | CalculationNode
  | PeriodDeltaNode
  | EndNode;

/** The outputs that a node may have, in the order of their declaration: wires are read and written in it. */
export function outputNames(node: TopologyNode): readonly string[] {
  if (node.type === 'switch') return [...node.branches.map(({ name }) => name), 'else'];
  return node.type === 'end' ? [] : ['default'];
}

export interface Topology {
  readonly start_node: string;
  /** In topological order, ties by code unit. A Map, because plain objects reorder integer-like keys. */
  readonly nodes: ReadonlyMap<string, TopologyNode>;
  /** The expressions of its nodes, parsed when it was read. */
  readonly formulas: Formulas;
}

/** A fault of a flow or trigger, as `details.issues[]` carries it [rules §2.3]. */
export interface Issue {
  readonly code: string;
  readonly message: string;
  /** JSON Pointer into the submitted document. */
  readonly path: string;
  readonly node_id?: string;
  readonly hint?: string;
}
