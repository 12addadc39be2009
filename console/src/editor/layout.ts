/** Automatic layout: ranks by the wires, from left to right or top-down, whichever shows more of the flow. */
import dagre from '@dagrejs/dagre';
import { isFields } from '../../../src/rules/issues.ts';
import { boundsOf, type DrawnDirection, fittingZoom, type Pane, usualSize } from './canvas-view.ts';
import { type FlowDocument, type Position, wiresOf } from './flow-document.ts';

export interface Size {
  readonly width: number;
  readonly height: number;
}

const gap = { rank: 64, node: 32 };

/** Positions by node id; `sizes` are the drawn ones, if known. */
export function layoutOf(
  document: FlowDocument,
  sizes: ReadonlyMap<string, Size>,
  pane: Pane,
): ReadonlyMap<string, Position> {
  const [right, down] = (['right', 'down'] as const).map((direction) => {
    const places = placesOf(document, sizes, direction);
    const boxes = [...places].map(([id, place]) => ({ ...place, ...(sizes.get(id) ?? usualSize) }));
    return { places, zoom: fittingZoom(boundsOf(boxes), pane) };
  });
  if (right === undefined || down === undefined || document.nodes.length === 0) return new Map();
  return down.zoom > right.zoom ? down.places : right.places;
}

function placesOf(
  document: FlowDocument,
  sizes: ReadonlyMap<string, Size>,
  direction: DrawnDirection,
): Map<string, Position> {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: direction === 'right' ? 'LR' : 'TB', ranksep: gap.rank, nodesep: gap.node });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of document.nodes) graph.setNode(id, { ...(sizes.get(id) ?? usualSize) });
  for (const node of document.nodes)
    for (const target of Object.values(wiresOf(node)).flat()) if (graph.hasNode(target)) graph.setEdge(node.id, target);
  dagre.layout(graph);
  return new Map(
    document.nodes.map(({ id }) => {
      const placed: unknown = graph.node(id);
      const of = (name: string): number => (isFields(placed) ? Number(placed[name]) : Number.NaN);
      // The library returns centres.
      return [id, { x: of('x') - of('width') / 2, y: of('y') - of('height') / 2 }];
    }),
  );
}
