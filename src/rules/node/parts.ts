/** The parts of nodes, in the topology's form [rules §4.7]; each kind uses some of them. */
import type { PointRef } from '../../site/catalogue.ts';

/** Output name -> ids of the next nodes. */
export type Wires = Readonly<Record<string, readonly string[]>>;

export interface VariableRead extends PointRef {
  readonly name: string;
  readonly max_age_ms?: number;
}

/** Maximum age of a read: the point's own limit, or the read's if that is stricter. */
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

/** Any node, by its parts. They take effect in this order. */
export interface NodeParts {
  readonly type: string;
  readonly variables?: readonly VariableRead[];
  readonly parameters?: readonly ParameterRead[];
  readonly assignments?: readonly Assignment[];
  /** The first true one names the output; without one it is `else`. */
  readonly branches?: readonly Branch[];
  readonly writes?: readonly Write[];
  readonly wires: Wires;
}

/** The output without a true branch. */
export function otherwiseOf(node: NodeParts): string {
  return node.branches === undefined ? 'default' : 'else';
}
