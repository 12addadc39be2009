/**
 * Positions on the canvas for nodes without one [rules §12.2]: that in the stored document, otherwise in
 * columns by their distance from the start.
 */
import { type Fields, isFields } from './issues.ts';

const column = 280;
const row = 140;

export function withPlaces(flow: unknown, stored: unknown): unknown {
  if (!isFields(flow) || !Array.isArray(flow['nodes'])) return flow;
  const nodes: readonly unknown[] = flow['nodes'];
  if (nodes.every(isPlaced)) return flow;
  const known = new Map(nodesOf(stored).map((node) => [node['id'], node['position']]));
  const depths = depthsOf(nodesOf(flow));
  const filled = new Map<number, number>();
  return {
    ...flow,
    nodes: nodes.map((node) => {
      if (!isFields(node) || isPlaced(node)) return node;
      const before = known.get(node['id']);
      if (before !== undefined) return { ...node, position: before };
      const depth = depths.get(node['id']) ?? 0;
      const place = filled.get(depth) ?? 0;
      filled.set(depth, place + 1);
      return { ...node, position: { x: depth * column, y: place * row } };
    }),
  };
}

function isPlaced(node: unknown): boolean {
  return isFields(node) && node['position'] !== undefined;
}

function nodesOf(flow: unknown): readonly Fields[] {
  const nodes: unknown = isFields(flow) ? flow['nodes'] : undefined;
  return Array.isArray(nodes) ? nodes.filter(isFields) : [];
}

/** The longest path from a node without predecessors; a loop, which the parser refuses, ends where it began. */
function depthsOf(nodes: readonly Fields[]): ReadonlyMap<unknown, number> {
  const depths = new Map<unknown, number>(nodes.map(({ id }) => [id, 0]));
  for (let round = 0; round < nodes.length; round++) {
    let hasMoved = false;
    for (const node of nodes)
      for (const target of targetsOf(node)) {
        const depth = (depths.get(node['id']) ?? 0) + 1;
        if (!depths.has(target) || (depths.get(target) ?? 0) >= depth) continue;
        depths.set(target, depth);
        hasMoved = true;
      }
    if (!hasMoved) break;
  }
  return depths;
}

function targetsOf(node: Fields): readonly unknown[] {
  const config = isFields(node['data']) ? node['data']['config'] : undefined;
  const wires = isFields(config) ? config['wires'] : undefined;
  return isFields(wires)
    ? Object.values(wires).flatMap((targets): unknown => (Array.isArray(targets) ? targets : []))
    : [];
}
