/** The wires of the canvas: drawn with the path of a run, selected, deleted, and detected under a dropped node. */
import { ActionIcon } from '@mantine/core';
import { BaseEdge, type Edge, EdgeLabelRenderer, type EdgeProps, getBezierPath } from '@xyflow/react';
import { memo } from 'react';
import { PlusIcon, TrashIcon } from '../shell/icons.tsx';
import { t } from '../strings/index.ts';
import classes from './canvas.module.css';
import { edgeKey } from './edit-flow.ts';
import type { FlowWire } from './edit-wires.ts';
import { type FlowDocument, nodeOf, wiresOf } from './flow-document.ts';
import { nodeTitle } from './node-names.ts';

const words = t.nodes.wire;

/** Actions on the selected wire. */
export interface WireTools {
  readonly onInsert: (wire: FlowWire) => void;
  readonly onRemove: (wire: FlowWire) => void;
}

export type CanvasWire = Edge<{ readonly wire: FlowWire; readonly tools: WireTools | null }, 'wire'>;

interface WireState {
  /** Ids of the wires of the shown run; null without a run. */
  readonly taken: ReadonlySet<string> | null;
  readonly selected: string | null;
  /** The wire that a dragged node is held over. */
  readonly under: FlowWire | null;
  readonly tools: WireTools | null;
}

export function drawnWires(flow: FlowDocument, { taken, selected, under, tools }: WireState): CanvasWire[] {
  const underId = under === null ? null : edgeKey(under.source, under.output, under.target);
  return flow.nodes.flatMap((node) =>
    Object.entries(wiresOf(node)).flatMap(([output, targets]) =>
      targets.flatMap((target): CanvasWire[] => {
        const to = nodeOf(flow, target);
        if (to === undefined) return [];
        const id = edgeKey(node.id, output, target);
        const path = taken === null ? '' : taken.has(id) ? 'taken' : 'idle';
        const isSelected = id === selected;
        return [
          {
            id,
            type: 'wire',
            source: node.id,
            sourceHandle: output,
            target,
            selected: isSelected,
            className: id === underId ? `${path} under` : path,
            ariaLabel: words.label(nodeTitle(node), output, nodeTitle(to)),
            data: { wire: { source: node.id, output, target }, tools: isSelected ? tools : null },
          },
        ];
      }),
    ),
  );
}

export const DrawnWire = memo(function DrawnWire(parts: EdgeProps<CanvasWire>) {
  const [path, x, y] = getBezierPath(parts);
  const { wire, tools } = parts.data ?? {};
  return (
    <>
      <BaseEdge path={path} />
      {wire !== undefined && tools !== undefined && tools !== null && (
        <EdgeLabelRenderer>
          <div
            className={`nodrag nopan ${classes['wireTools']}`}
            style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}
          >
            <ActionIcon variant="default" size={26} aria-label={words.insert} onClick={() => tools.onInsert(wire)}>
              <PlusIcon size={15} />
            </ActionIcon>
            <ActionIcon variant="default" size={26} aria-label={words.remove} onClick={() => tools.onRemove(wire)}>
              <TrashIcon size={15} />
            </ActionIcon>
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
});

/** Sampled positions along a wire: enough to hit a node of usual size on a wire across the screen. */
const wireSamples = 40;

/** The wire with the longest part under an area of the screen, or null. */
export function wireUnder(frame: HTMLElement, wires: readonly CanvasWire[], box: DOMRect): FlowWire | null {
  let found: { id: string; share: number } | null = null;
  for (const path of frame.querySelectorAll<SVGPathElement>('.react-flow__edge-path')) {
    const id = path.closest('.react-flow__edge')?.getAttribute('data-id');
    const share = lengthInside(path, box);
    if (typeof id === 'string' && share > (found?.share ?? 0)) found = { id, share };
  }
  return wires.find(({ id }) => id === found?.id)?.data?.wire ?? null;
}

function lengthInside(path: SVGPathElement, box: DOMRect): number {
  const toScreen = path.getScreenCTM();
  if (toScreen === null) return 0;
  const length = path.getTotalLength();
  let inside = 0;
  for (let sample = 0; sample <= wireSamples; sample++) {
    const { x, y } = path.getPointAtLength((length * sample) / wireSamples).matrixTransform(toScreen);
    if (x >= box.left && x <= box.right && y >= box.top && y <= box.bottom) inside += length / wireSamples;
  }
  return inside;
}
