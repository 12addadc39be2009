/**
 * Every change of a flow in the editor, as functions from document to document. Wires define the flow [rules §4.1]:
 * every change of wires also updates the edges, so that both always agree.
 */
import { type Fields, isFields } from '../../../src/rules/issues.ts';
import {
  configOf,
  type DrawnWires,
  type FlowDocument,
  type FlowEdge,
  type FlowNode,
  nodeOf,
  type Position,
  wiresOf,
} from './flow-document.ts';
import { type NodeKind, startingConfig } from './node-kinds.ts';

export function addNode(
  document: FlowDocument,
  kind: NodeKind,
  position: Position,
): { document: FlowDocument; id: string } {
  const id = freshId(document, kind.replaceAll('-', '_'));
  const node: FlowNode = { id, type: kind, position: rounded(position), data: { config: startingConfig(kind) } };
  return { document: { ...document, nodes: [...document.nodes, node] }, id };
}

function freshId(document: FlowDocument, base: string, taken: ReadonlySet<string> = new Set()): string {
  const isTaken = (id: string): boolean => taken.has(id) || document.nodes.some((node) => node.id === id);
  if (!isTaken(base)) return base;
  const stem = base.replace(/_[0-9]+$/, '');
  for (let number = 2; ; number++) if (!isTaken(`${stem}_${number}`)) return `${stem}_${number}`;
}

function rounded({ x, y }: Position): Position {
  return { x: Math.round(x), y: Math.round(y) };
}

export function moveNodes(document: FlowDocument, positions: ReadonlyMap<string, Position>): FlowDocument {
  const nodes = document.nodes.map((node) => {
    const to = positions.get(node.id);
    if (to === undefined) return node;
    const { x, y } = rounded(to);
    return x === node.position.x && y === node.position.y ? node : { ...node, position: { ...node.position, x, y } };
  });
  return nodes.every((node, index) => node === document.nodes[index]) ? document : { ...document, nodes };
}

/** Sets a member of the node's config; undefined removes it. */
export function setConfig(document: FlowDocument, id: string, name: string, value: unknown): FlowDocument {
  return changeConfig(document, id, (config) => {
    const { [name]: _, ...others } = config;
    return value === undefined ? others : { ...config, [name]: value };
  });
}

/** The node with a config derived from its own; the same document if that is the same object. */
export function changeConfig(
  document: FlowDocument,
  id: string,
  change: (config: Fields, node: FlowNode) => Fields,
): FlowDocument {
  const node = nodeOrThrow(document, id);
  const before = configOf(node);
  const config = change(before, node);
  return config === before ? document : replaceNode(document, setData(node, 'config', config));
}

/** Replaces the branches; renamed ones keep their wires, those of removed ones are deleted. */
export function setBranches(
  document: FlowDocument,
  id: string,
  branches: readonly Fields[],
  renamed?: { from: string; to: string },
): FlowDocument {
  const node = nodeOrThrow(document, id);
  const names = new Set(branches.map(({ name }) => (typeof name === 'string' ? name : '')));
  const wires = Object.entries(wiresOf(node))
    .map(
      ([output, targets]) => [renamed !== undefined && output === renamed.from ? renamed.to : output, targets] as const,
    )
    .filter(([output]) => names.has(output) || output === 'else');
  const changed = setWires(node, Object.fromEntries(wires));
  const config = { ...configOf(changed), branches };
  return withEdges(replaceNode(document, setData(changed, 'config', config)));
}

/** Sets a member of the node's data, such as its label; an empty text removes it. */
export function setText(document: FlowDocument, id: string, name: 'label' | 'description', text: string): FlowDocument {
  return replaceNode(document, setData(nodeOrThrow(document, id), name, text === '' ? undefined : text));
}

/** The whole config, from the JSON editor. */
export function setWholeConfig(document: FlowDocument, id: string, config: Fields): FlowDocument {
  return withEdges(replaceNode(document, setData(nodeOrThrow(document, id), 'config', config)));
}

/** Inserts nodes of another document with new ids, with their wires among each other, at an offset. */
export function pasteNodes(
  document: FlowDocument,
  pasted: readonly FlowNode[],
  by: Position,
): { document: FlowDocument; ids: string[] } {
  const hasStart = document.nodes.some(({ type }) => type === 'start');
  const coming = pasted.filter(({ type }) => !(hasStart && type === 'start'));
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const { id } of coming) {
    const fresh = freshId(document, id, taken);
    taken.add(fresh);
    names.set(id, fresh);
  }
  const nodes = coming.map((node) => ({
    ...changeWires(node, (targets) => targets.flatMap((target) => names.get(target) ?? [])),
    id: names.get(node.id) ?? node.id,
    position: { ...node.position, x: node.position.x + by.x, y: node.position.y + by.y },
  }));
  return { document: withEdges({ ...document, nodes: [...document.nodes, ...nodes] }), ids: [...names.values()] };
}

export function nodeOrThrow(document: FlowDocument, id: string): FlowNode {
  const node = nodeOf(document, id);
  if (node === undefined) throw new Error(`the flow has no node ${id}`);
  return node;
}

export function replaceNode(document: FlowDocument, node: FlowNode): FlowDocument {
  return { ...document, nodes: document.nodes.map((other) => (other.id === node.id ? node : other)) };
}

function setData(node: FlowNode, name: string, value: unknown): FlowNode {
  const { [name]: _, ...others } = node.data ?? {};
  return { ...node, data: value === undefined ? others : { ...node.data, [name]: value } };
}

export function setWires(node: FlowNode, wires: DrawnWires): FlowNode {
  return setData(node, 'config', { ...configOf(node), wires });
}

/** The same node if nothing changes. */
export function changeWires(node: FlowNode, change: (targets: readonly string[]) => readonly string[]): FlowNode {
  const before = wiresOf(node);
  const after = Object.fromEntries(Object.entries(before).map(([output, targets]) => [output, change(targets)]));
  const same = Object.entries(after).every(
    ([output, targets]) =>
      targets.length === before[output]?.length && targets.every((id, at) => id === before[output]?.[at]),
  );
  return same ? node : setWires(node, after);
}

/** One edge per wire; an existing edge is kept unchanged, with its style. */
export function withEdges(document: FlowDocument): FlowDocument {
  const known = new Map<string, FlowEdge>();
  for (const edge of document.edges ?? []) {
    if (!isFields(edge)) continue;
    const { source, target, sourceHandle } = edge;
    if (typeof source !== 'string' || typeof target !== 'string') continue;
    const output = typeof sourceHandle === 'string' ? sourceHandle : 'default';
    known.set(edgeKey(source, output, target), { ...edge, source, target });
  }
  const edges = document.nodes.flatMap((node) =>
    Object.entries(wiresOf(node)).flatMap(([output, targets]) =>
      targets.map((target) => {
        const key = edgeKey(node.id, output, target);
        return known.get(key) ?? { id: key, source: node.id, sourceHandle: output, target };
      }),
    ),
  );
  return { ...document, edges };
}

export function edgeKey(source: string, output: string, target: string): string {
  return `${source}:${output}>${target}`;
}
