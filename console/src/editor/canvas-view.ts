/** The initial view: the whole flow if its text is readable, otherwise the part around its start. */
import { type FlowDocument, type FlowNode, nodeOf, type Position, wiresOf } from './flow-document.ts';

export interface Box extends Position {
  readonly width: number;
  readonly height: number;
}

/** Approximate size of a node that was not drawn yet. */
export const usualSize = { width: 240, height: 90 };

export type Pane = Pick<Box, 'width' | 'height'>;
export type DrawnDirection = 'right' | 'down';

/** The smallest text of a drawn node, as in `flow-node.module.css`, and the smallest size of the initial view. */
const textPx = 12;
const textMinPx = 11;
export const readableZoom = textMinPx / textPx;
const edgePx = 32;

/** The zoom that shows the whole flow; never above 1. */
export function fittingZoom({ width, height }: Pane, pane: Pane): number {
  return Math.min(1, (pane.width - 2 * edgePx) / width, (pane.height - 2 * edgePx) / height);
}

export function boundsOf(boxes: readonly Box[]): Box {
  const left = Math.min(...boxes.map(({ x }) => x));
  const top = Math.min(...boxes.map(({ y }) => y));
  const right = Math.max(...boxes.map(({ x, width }) => x + width));
  const bottom = Math.max(...boxes.map(({ y, height }) => y + height));
  return { x: left, y: top, width: right - left, height: bottom - top };
}

export type View = Position & { readonly zoom: number };

/** The view moved until the box is in its middle; null if a part of the box is in view already. */
export function movedView({ x, y, width, height }: Box, pane: Pane, view: View): View | null {
  const { zoom } = view;
  const [left, top] = [x * zoom + view.x, y * zoom + view.y];
  const isSeen = left < pane.width && top < pane.height && left + width * zoom > 0 && top + height * zoom > 0;
  if (isSeen) return null;
  return { x: pane.width / 2 - (x + width / 2) * zoom, y: pane.height / 2 - (y + height / 2) * zoom, zoom };
}

/** Offset and zoom. A flow that does not fit is shown around `first`, as far as that leaves no edge empty. */
export function openingView(boxes: readonly Box[], first: Box | undefined, pane: Pane): View {
  const bounds = boundsOf(boxes);
  const zoom = Math.max(readableZoom, fittingZoom(bounds, pane));
  const offset = (low: number, length: number, at: number, atLength: number, space: number): number => {
    const spare = space - length * zoom;
    if (spare >= 2 * edgePx) return spare / 2 - low * zoom;
    const centred = space / 2 - (at + atLength / 2) * zoom;
    return Math.min(edgePx - low * zoom, Math.max(space - edgePx - (low + length) * zoom, centred));
  };
  const { x, y, width, height } = first ?? boxes[0] ?? bounds;
  return {
    x: offset(bounds.x, bounds.width, x, width, pane.width),
    y: offset(bounds.y, bounds.height, y, height, pane.height),
    zoom,
  };
}

/** The nodes from the start of the flow outwards. */
export function fromStart({ nodes }: FlowDocument): FlowNode[] {
  const { x, y } = (nodes.find(({ type }) => type === 'start') ?? nodes[0])?.position ?? { x: 0, y: 0 };
  const distance = ({ position }: FlowNode): number => Math.hypot(position.x - x, position.y - y);
  return nodes.toSorted((one, other) => distance(one) - distance(other));
}

/** The main direction of the wires. */
export function wireDirection(flow: FlowDocument): DrawnDirection {
  let down = 0;
  for (const node of flow.nodes)
    for (const target of Object.values(wiresOf(node)).flat()) {
      const to = nodeOf(flow, target);
      if (to === undefined) continue;
      const isDown = to.position.y - node.position.y > Math.abs(to.position.x - node.position.x);
      down += isDown ? 1 : -1;
    }
  return down > 0 ? 'down' : 'right';
}
