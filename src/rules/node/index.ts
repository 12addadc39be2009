/** The registry of node kinds, by the type in the editor's document [rules §4.2]: one file and one line per kind. */
import { action } from './action.ts';
import { calculation } from './calculation.ts';
import { decision } from './decision.ts';
import { end } from './end.ts';
import { input } from './input.ts';
import type { NodeKindOf, NodeOf } from './kind.ts';
import { periodDelta } from './period-delta.ts';
import { start } from './start.ts';

export const nodeKinds = {
  start,
  input,
  decision,
  calculation,
  action,
  'period-delta': periodDelta,
  end,
} as const;

export type NativeType = keyof typeof nodeKinds;
export type TopologyNode = NodeOf<(typeof nodeKinds)[NativeType]>;
export type NodeType = TopologyNode['type'];

/** A kind with unknown content. */
export type AnyKind = NodeKindOf<NodeType, object>;

const byType: ReadonlyMap<string, AnyKind> = new Map(Object.values(nodeKinds).map((kind) => [kind.type, kind]));

/** Types of the editor's document, and of the topology, in the order of the registry. */
export const nativeTypes = Object.keys(nodeKinds) as NativeType[];
export const topologyTypes = [...byType.keys()];

export function nodeKind(type: NodeType): AnyKind;
export function nodeKind(type: unknown): AnyKind | undefined;
export function nodeKind(type: unknown): AnyKind | undefined {
  return typeof type === 'string' ? byType.get(type) : undefined;
}

export function isNodeType(name: string): name is NodeType {
  return byType.has(name);
}

export function nativeKind(type: unknown): AnyKind | undefined {
  return typeof type === 'string' && Object.hasOwn(nodeKinds, type) ? nodeKinds[type as NativeType] : undefined;
}

/** The outputs that a node may have, in the order of their declaration: wires are read and written in it. */
export function outputNames(node: TopologyNode): readonly string[] {
  return 'branches' in node ? [...node.branches.map(({ name }) => name), 'else'] : nodeKind(node.type).outputs;
}
