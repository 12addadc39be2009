/** Automatic layout: ranks from left to right, by the wires. */
import dagre from '@dagrejs/dagre';
import { isFields } from '../../../src/rules/issues.ts';
import { type FlowDocument, type Position, wiresOf } from './flow-document.ts';

export interface Size {
  readonly width: number;
  readonly height: number;
}

const gap = { rank: 90, node: 36 };
const usual: Size = { width: 240, height: 90 };

/** Places by node id; `sizes` are those on the screen, where they are known. */
export function layoutOf(document: FlowDocument, sizes: ReadonlyMap<string, Size>): Map<string, Position> {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', ranksep: gap.rank, nodesep: gap.node });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of document.nodes) graph.setNode(id, { ...(sizes.get(id) ?? usual) });
  for (const node of document.nodes)
    for (const target of Object.values(wiresOf(node)).flat()) if (graph.hasNode(target)) graph.setEdge(node.id, target);
  dagre.layout(graph);
  return new Map(
    document.nodes.map(({ id }) => {
      const placed: unknown = graph.node(id);
      const of = (name: string): number => (isFields(placed) ? Number(placed[name]) : Number.NaN);
      // The library places middles.
      return [id, { x: of('x') - of('width') / 2, y: of('y') - of('height') / 2 }];
    }),
  );
}
