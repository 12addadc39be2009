/** The kinds of nodes that can be drawn [rules §4.2]: initial content and outputs of each. */
import type { Fields } from '../../../src/rules/issues.ts';
import { type NativeType, nativeTypes, nodeKinds } from '../../../src/rules/node/index.ts';
import { nodeView } from '../node/index.ts';
import { configOf, customType, entriesOf, type FlowNode, textOf, wiresOf } from './flow-document.ts';

export type NodeKind = NativeType;

/** Null for the second dialect and for unknown types: shown, preserved, and edited as JSON. */
export function nativeKindOf(node: FlowNode): NodeKind | null {
  return nativeTypes.find((kind) => kind === node.type) ?? null;
}

/** The second dialect's types by their kind in the first. */
const dialectKinds: Readonly<Record<string, NodeKind>> = {
  start: 'start',
  end: 'end',
  'function-switch': 'decision',
  'action-changeValue': 'action',
  'action-calculation': 'calculation',
  'action-periodDelta': 'period-delta',
};

/** The kind to draw a node as, in either dialect. */
export function drawnKind(node: FlowNode): NodeKind | null {
  return nativeKindOf(node) ?? dialectKinds[customType(node) ?? ''] ?? null;
}

export function startingConfig(kind: NodeKind): Fields {
  // Only outputs that are declared may be wired: a decision's are its branches.
  const wires = Object.fromEntries(nodeKinds[kind].outputs.map((output) => [output, []]));
  return { ...nodeView(kind).starting(), wires };
}

export const elseOutput = 'else';

/** The outputs of a node, in drawing order; wires to undeclared outputs are drawn too, so that none is hidden. */
export function outputsOf(node: FlowNode): string[] {
  const declared = declaredOutputs(node);
  const more = Object.keys(wiresOf(node)).filter((name) => !declared.includes(name) && wiresOf(node)[name]?.length);
  return [...declared, ...more];
}

function declaredOutputs(node: FlowNode): string[] {
  const kind = nativeKindOf(node);
  if (nodeView(kind).parts.includes('branches'))
    return [...new Set([...entriesOf(node, 'branches').map(({ name }) => textOf(name)), elseOutput])].filter(Boolean);
  if (kind !== null) return [...nodeKinds[kind].outputs];
  if (customType(node) === 'function-switch') {
    const rules = configOf(node)['rule'];
    const names = Array.isArray(rules) ? entriesOf(node, 'rule').map(({ name }) => textOf(name)) : [];
    return [...new Set([...names, elseOutput])].filter(Boolean);
  }
  if (customType(node) === 'end') return [];
  return ['default'];
}

export function hasInput(node: FlowNode): boolean {
  return drawnKind(node) !== 'start';
}

/** Kinds that can follow an output, or stand before an input. */
export function fittingKinds(from: 'output' | 'input', hasStart: boolean): NodeKind[] {
  return nativeTypes.filter((kind) => {
    if (kind === 'start') return from === 'input' && !hasStart;
    return from === 'output' || kind !== 'end';
  });
}
