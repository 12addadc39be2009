/**
 * The one serialiser of `nodes_json` [rules §4.7]: explicit, because JavaScript objects reorder integer-like
 * keys. Nodes in topological order, members in the order in which the parser makes them: the same topology always
 * gives the same bytes.
 */
import { outputNames } from './node/index.ts';
import type { Topology } from './topology.ts';

/** `nodes_json` of a stub that has no flow yet. */
export const emptyTopologyText = '{}';

export function serialiseTopology(topology: Topology): string {
  const nodes = [...topology.nodes].map(([id, node]) => {
    // Branch names may look like integers too: wires are written one by one.
    const { wires, ...content } = node;
    const written = outputNames(node)
      .filter((output) => Object.hasOwn(wires, output))
      .map((output) => `${JSON.stringify(output)}:${JSON.stringify(wires[output])}`);
    const members = JSON.stringify(content).slice(1, -1);
    return `${JSON.stringify(id)}:{${members},"wires":{${written.join(',')}}}`;
  });
  return `{"start_node":${JSON.stringify(topology.start_node)},"nodes":{${nodes.join(',')}}}`;
}
