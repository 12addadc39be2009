/** The kinds of nodes that can be drawn [rules §4.2]: what each begins as, and which outputs it has. */
import { configOf, customType, entriesOf, type FlowNode, textOf, wiresOf } from './flow-document.ts';

export const nodeKinds = ['start', 'input', 'decision', 'calculation', 'action', 'period-delta', 'end'] as const;
export type NodeKind = (typeof nodeKinds)[number];

/** Null for the second dialect and for what is not known: shown and kept, edited as JSON. */
export function kindOf(node: FlowNode): NodeKind | null {
  return nodeKinds.find((kind) => kind === node.type) ?? null;
}

/** What the second dialect's types are in the words of the first. */
const dialectKinds: Readonly<Record<string, NodeKind>> = {
  start: 'start',
  end: 'end',
  'function-switch': 'decision',
  'action-changeValue': 'action',
  'action-calculation': 'calculation',
  'action-periodDelta': 'period-delta',
};

/** The kind to draw a node as, whichever dialect it speaks. */
export function drawnKind(node: FlowNode): NodeKind | null {
  return kindOf(node) ?? dialectKinds[customType(node) ?? ''] ?? null;
}

const starting: Readonly<Record<NodeKind, () => Record<string, unknown>>> = {
  start: () => ({}),
  input: () => ({ variables: [], parameters: [] }),
  decision: () => ({ branches: [{ name: 'yes', when: '' }] }),
  calculation: () => ({ assignments: [{ name: '', expression: '' }] }),
  action: () => ({ writes: [] }),
  'period-delta': () => ({ input: '', period: 'daily', name: '' }),
  end: () => ({}),
};

export function startingConfig(kind: NodeKind): Record<string, unknown> {
  // Only outputs that are declared may be wired: a decision's are its branches.
  return { ...starting[kind](), wires: kind === 'end' || kind === 'decision' ? {} : { default: [] } };
}

export const elseOutput = 'else';

/** The outputs of a node, in the order in which they are drawn; wires to others are drawn too, so that none is hidden. */
export function outputsOf(node: FlowNode): string[] {
  const declared = declaredOutputs(node);
  const more = Object.keys(wiresOf(node)).filter((name) => !declared.includes(name) && wiresOf(node)[name]?.length);
  return [...declared, ...more];
}

function declaredOutputs(node: FlowNode): string[] {
  const kind = kindOf(node);
  if (kind === 'end') return [];
  if (kind === 'decision')
    return [...new Set([...entriesOf(node, 'branches').map(({ name }) => textOf(name)), elseOutput])].filter(Boolean);
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
  return nodeKinds.filter((kind) => {
    if (kind === 'start') return from === 'input' && !hasStart;
    return from === 'output' || kind !== 'end';
  });
}
