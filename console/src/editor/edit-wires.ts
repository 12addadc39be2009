/** Changes of wires: add, remove, splice a node in, and connect the neighbours of a removed node. */
import { changeWires, nodeOrThrow, replaceNode, setWires, withEdges } from './edit-flow.ts';
import { type FlowDocument, type FlowNode, nodeOf, wiresOf } from './flow-document.ts';
import { hasInput, outputsOf } from './node-kinds.ts';

/** Why a wire is refused. */
export type WireFault = 'missing' | 'itself' | 'start' | 'twice' | 'loop';

export interface FlowWire {
  readonly source: string;
  readonly output: string;
  readonly target: string;
}

/** Why a wire cannot be drawn; null for one that can. */
export function wireFault(document: FlowDocument, source: string, output: string, target: string): WireFault | null {
  const from = nodeOf(document, source);
  const to = nodeOf(document, target);
  if (from === undefined || to === undefined || !outputsOf(from).includes(output)) return 'missing';
  if (source === target) return 'itself';
  if (to.type === 'start') return 'start';
  if (wiresOf(from)[output]?.includes(target) === true) return 'twice';
  return leadsTo(document, target, source) ? 'loop' : null;
}

export function canConnect(document: FlowDocument, source: string, output: string, target: string): boolean {
  return wireFault(document, source, output, target) === null;
}

function leadsTo(document: FlowDocument, from: string, to: string): boolean {
  const seen = new Set<string>();
  const open = [from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === to) return true;
    if (seen.has(id)) continue;
    seen.add(id);
    const node = nodeOf(document, id);
    if (node !== undefined) open.push(...Object.values(wiresOf(node)).flat());
  }
  return false;
}

export function connect(document: FlowDocument, source: string, output: string, target: string): FlowDocument {
  if (!canConnect(document, source, output, target)) return document;
  return setTargets(document, source, output, [...(wiresOf(nodeOrThrow(document, source))[output] ?? []), target]);
}

export function disconnect(document: FlowDocument, source: string, output: string, target: string): FlowDocument {
  const targets = wiresOf(nodeOrThrow(document, source))[output] ?? [];
  return setTargets(
    document,
    source,
    output,
    targets.filter((id) => id !== target),
  );
}

export function setTargets(
  document: FlowDocument,
  source: string,
  output: string,
  targets: readonly string[],
): FlowDocument {
  const node = nodeOrThrow(document, source);
  const wires = { ...wiresOf(node), [output]: [...targets] };
  return withEdges(replaceNode(document, setWires(node, wires)));
}

/**
 * Removes these nodes. Predecessors of a removed node are wired to its successors, unless its outputs lead to different nodes:
 * then the person has to choose.
 */
export function removeNodes(document: FlowDocument, ids: ReadonlySet<string>): FlowDocument {
  const beyond = (target: string, passed: ReadonlySet<string>): string[] => {
    if (!ids.has(target)) return [target];
    const node = nodeOf(document, target);
    if (node === undefined || passed.has(target)) return [];
    return onlyWay(node).flatMap((next) => beyond(next, new Set([...passed, target])));
  };
  const nodes = document.nodes
    .filter((node) => !ids.has(node.id))
    .map((node) =>
      changeWires(node, (targets) =>
        targets.some((target) => ids.has(target))
          ? [...new Set(targets.flatMap((target) => beyond(target, new Set())))].filter((target) => target !== node.id)
          : targets,
      ),
    );
  return withEdges({ ...document, nodes });
}

/**
 * The successors of a node whose outputs all lead to the same nodes; empty where they differ. An unconnected output counts as a
 * difference: a step guarded by a decision never becomes unconditional.
 */
function onlyWay(node: FlowNode): readonly string[] {
  const wires = wiresOf(node);
  const [first = [], ...others] = outputsOf(node).map((output) => wires[output] ?? []);
  return others.every((targets) => targets.join('\n') === first.join('\n')) ? first : [];
}

/** Whether the node can be spliced into a wire: it has an input and an output, and no wire yet. */
export function canSplice(document: FlowDocument, id: string): boolean {
  const node = nodeOf(document, id);
  if (node === undefined || !hasInput(node) || outputsOf(node).length === 0) return false;
  if (Object.values(wiresOf(node)).flat().length > 0) return false;
  return !document.nodes.some((other) => Object.values(wiresOf(other)).flat().includes(id));
}

/** Splices the node into a wire; its first output leads on. */
export function splice(document: FlowDocument, id: string, { source, output, target }: FlowWire): FlowDocument {
  const node = nodeOf(document, id);
  const onward = node === undefined ? undefined : outputsOf(node)[0];
  const targets = wiresOf(nodeOrThrow(document, source))[output] ?? [];
  if (onward === undefined || !targets.includes(target) || !canSplice(document, id)) return document;
  const replaced = targets.map((other) => (other === target ? id : other));
  return setTargets(setTargets(document, source, output, replaced), id, onward, [target]);
}
