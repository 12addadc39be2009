/** Edges only draw a flow [rules §4.1]; one that shows other connections than the wires is misleading. */

import type { Issue } from './issues.ts';
import { isFields } from './issues.ts';
import { outputNames } from './node/index.ts';
import type { Topology } from './topology.ts';

/** A warning if non-empty edges differ from the wires. A handle counts if it names an output of its node. */
export function edgeWarnings(edges: unknown, topology: Topology): Issue[] {
  if (!Array.isArray(edges) || edges.length === 0) return [];
  const wired = new Set<string>();
  const pairs = new Set<string>();
  const outputs = new Map<string, ReadonlySet<string>>();
  for (const [id, node] of topology.nodes) {
    outputs.set(id, new Set(outputNames(node)));
    for (const [output, targets] of Object.entries(node.wires)) {
      for (const target of targets) {
        wired.add(connection(id, target, output));
        pairs.add(connection(id, target));
      }
    }
  }
  const drawn = new Set<string>();
  const drawnPairs = new Set<string>();
  let misleading = false;
  for (const edge of edges as unknown[]) {
    const { source, target, sourceHandle } = isFields(edge) ? edge : {};
    if (typeof source !== 'string' || typeof target !== 'string') {
      misleading = true;
      continue;
    }
    drawnPairs.add(connection(source, target));
    // Editors choose names of handles; one that is not an output of the node is ignored.
    if (typeof sourceHandle === 'string' && outputs.get(source)?.has(sourceHandle))
      drawn.add(connection(source, target, sourceHandle));
  }
  misleading ||= [...drawn].some((key) => !wired.has(key));
  misleading ||= drawnPairs.size !== pairs.size || [...drawnPairs].some((key) => !pairs.has(key));
  if (!misleading) return [];
  return [
    {
      code: 'edges-differ',
      path: '/edges',
      message: 'the drawn edges differ from the wires; the wires are what runs',
      hint: 'draw one edge from source to target for every wire, or send no edges',
    },
  ];
}

function connection(source: string, target: string, output = ''): string {
  return JSON.stringify([source, target, output]);
}
