/**
 * The canvas: draws the draft's flow. A dragged node moves at once and enters the draft on drop; every other action changes the
 * draft, and the canvas redraws it.
 */
import '@xyflow/react/dist/base.css';
import {
  Background,
  type Connection,
  type OnEdgesChange,
  type OnNodesChange,
  ReactFlow,
  useNodesState,
  useReactFlow,
} from '@xyflow/react';
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { takenEdges, useShownRun } from '../live/run-view.ts';
import { t } from '../strings/index.ts';
import classes from './canvas.module.css';
import { AddingPalette, useAdding } from './canvas-adding.tsx';
import { CanvasControls, FlowMap } from './canvas-overview.tsx';
import { fromStart, wireDirection } from './canvas-view.ts';
import { type CanvasWire, DrawnWire, drawnWires, type WireTools, wireUnder } from './canvas-wires.tsx';
import { drawnFlow, useDraft, useDraftStore } from './draft-store.ts';
import { moveNodes } from './edit-flow.ts';
import { canConnect, canSplice, connect, disconnect, type FlowWire, removeNodes, splice } from './edit-wires.ts';
import { useEditor } from './editor-context.ts';
import type { FlowDocument, Position } from './flow-document.ts';
import { type CanvasNode, DrawnFlowNode } from './flow-node.tsx';
import { nodeAria } from './node-names.ts';

const nodeTypes = { flow: DrawnFlowNode };
const edgeTypes = { wire: DrawnWire };
const words = t.editor;
const ariaLabels = {
  'node.a11yDescription.default': words.canvasHelp,
  'node.a11yDescription.keyboardDisabled': words.canvasHelp,
  'edge.a11yDescription.default': words.canvasHelp,
};
/** A pointer movement below this distance is a click. */
const dragThresholdPx = 3;
/** Minimum zoom, at which a flow of hundreds of nodes fits. */
const zoom = { min: 0.05, max: 2 };

/** Larger flows first draw about as many nodes as fit on a screen at a readable size, and then this number per frame. */
const wholeNodes = 40;
const firstNodes = 24;
const nodesPerFrame = 40;

/** The nodes drawn so far, from the start of the flow outwards; null for all of them. */
function useDrawnPart(flow: FlowDocument, isOpened: boolean): ReadonlySet<string> | null {
  const [count, setCount] = useState(flow.nodes.length > wholeNodes ? firstNodes : wholeNodes);
  const isWhole = count >= flow.nodes.length;
  useEffect(() => {
    if (isWhole || !isOpened) return undefined;
    const frame = requestAnimationFrame(() => setCount(count + nodesPerFrame));
    return () => cancelAnimationFrame(frame);
  }, [count, isWhole, isOpened]);
  return useMemo(
    () =>
      isWhole
        ? null
        : new Set(
            fromStart(flow)
              .slice(0, count)
              .map(({ id }) => id),
          ),
    [flow, count, isWhole],
  );
}

/** The drawn nodes, and the actions on them. */
function useDrawnNodes(flow: FlowDocument, part: ReadonlySet<string> | null) {
  const { problems, selected, select } = useEditor();
  const store = useDraftStore();
  const [nodes, setNodes, applyChanges] = useNodesState<CanvasNode>([]);
  /** During a drag, moves enter the draft at its end; moves by arrow keys at once. */
  const isDragging = useRef(false);

  useEffect(() => {
    setNodes((before) => drawnNodes(flow, part, before, selected, problems));
  }, [flow, part, selected, problems, setNodes]);

  const onNodesChange: OnNodesChange<CanvasNode> = useCallback(
    (changes) => {
      // Removals go through the draft, below.
      const stepped = changes.flatMap((change): [string, Position][] =>
        change.type === 'position' && change.position !== undefined ? [[change.id, change.position]] : [],
      );
      if (stepped.length > 0 && !isDragging.current) {
        const about = `move ${stepped.map(([id]) => id).join(' ')}`;
        store.editFlow((document) => moveNodes(document, new Map(stepped)), about);
      }
      applyChanges(changes.filter(({ type }) => type !== 'remove' && type !== 'select'));
      const picked = changes.filter((change) => change.type === 'select');
      if (picked.length === 0) return;
      const next = new Set(selected);
      for (const change of picked) {
        if (change.selected) next.add(change.id);
        else next.delete(change.id);
      }
      select([...next]);
    },
    [applyChanges, select, selected, store],
  );
  return { nodes, onNodesChange, isDragging };
}

/** The drawn wires, the selected one, and the one under a dragged node. */
function useDrawnWires(flow: FlowDocument, part: ReadonlySet<string> | null, tools: WireTools) {
  const { readOnly } = useEditor();
  const run = useShownRun();
  const [selected, setSelected] = useState<string | null>(null);
  const [under, setUnder] = useState<FlowWire | null>(null);
  const taken = useMemo(() => (run === null ? null : takenEdges(run, flow)), [run, flow]);
  const all = useMemo(
    () => drawnWires(flow, { taken, selected, under, tools: readOnly ? null : tools }),
    [flow, taken, selected, under, tools, readOnly],
  );
  const wires = useMemo(
    () => (part === null ? all : all.filter(({ source, target }) => part.has(source) && part.has(target))),
    [all, part],
  );
  const onEdgesChange: OnEdgesChange<CanvasWire> = useCallback((changes) => {
    for (const change of changes)
      if (change.type === 'select')
        setSelected((now) => (change.selected ? change.id : now === change.id ? null : now));
  }, []);
  return { wires, onEdgesChange, setUnder };
}

/** The end of a drag: the nodes move, and a node dropped on a wire is inserted between its two ends. */
function useDragging(
  frame: RefObject<HTMLDivElement | null>,
  wires: readonly CanvasWire[],
  setUnder: (wire: FlowWire | null) => void,
) {
  const reactFlow = useReactFlow<CanvasNode>();
  const store = useDraftStore();
  const over = (dragged: readonly CanvasNode[]): FlowWire | null => {
    const [node, another] = dragged;
    if (frame.current === null || node === undefined || another !== undefined) return null;
    if (!canSplice(drawnFlow(store.state().history.present), node.id)) return null;
    // From the pointer's last position: the drawing may lag behind.
    const { x, y } = reactFlow.flowToScreenPosition(node.position);
    const zoom = reactFlow.getZoom();
    const { width = 0, height = 0 } = node.measured ?? {};
    return wireUnder(frame.current, wires, new DOMRect(x, y, width * zoom, height * zoom));
  };
  return {
    onDrag: (dragged: readonly CanvasNode[]): void => setUnder(over(dragged)),
    onDragStop(dragged: readonly CanvasNode[]): void {
      const wire = over(dragged);
      setUnder(null);
      store.editFlow((document) => {
        const moved = moveNodes(document, new Map(dragged.map((node) => [node.id, node.position])));
        const [node] = dragged;
        return wire === null || node === undefined ? moved : splice(moved, node.id, wire);
      });
    },
  };
}

export function Canvas() {
  const store = useDraftStore();
  const { history } = useDraft();
  const { select, readOnly } = useEditor();
  const frame = useRef<HTMLDivElement>(null);
  const [isOpened, setOpened] = useState(false);
  const onOpened = useCallback(() => setOpened(true), []);
  const flow = drawnFlow(history.present);
  const part = useDrawnPart(flow, isOpened);
  const { adding, openOnWire, onConnectEnd, close, choose } = useAdding(frame);
  const remove = useCallback(
    ({ source, output, target }: FlowWire) =>
      store.editFlow((document) => disconnect(document, source, output, target)),
    [store],
  );
  const tools = useMemo(() => ({ onInsert: openOnWire, onRemove: remove }), [openOnWire, remove]);
  const { wires, onEdgesChange, setUnder } = useDrawnWires(flow, part, tools);
  const { nodes, onNodesChange, isDragging } = useDrawnNodes(flow, part);
  const { onDrag, onDragStop } = useDragging(frame, wires, setUnder);
  const onConnect = ({ source, sourceHandle, target }: Connection): void =>
    store.editFlow((document) => connect(document, source, sourceHandle ?? 'default', target));
  const isValid = ({ source, sourceHandle, target }: Connection | CanvasWire): boolean =>
    canConnect(flow, source, sourceHandle ?? 'default', target);
  const dragStop = (dragged: readonly CanvasNode[]): void => {
    isDragging.current = false;
    onDragStop(dragged);
  };
  return (
    <div ref={frame} className={classes['canvas']} data-testid="canvas" data-opened={isOpened}>
      <ReactFlow<CanvasNode, CanvasWire>
        nodes={nodes}
        edges={wires}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        onNodesChange={onNodesChange}
        onEdgesChange={onEdgesChange}
        onNodeDragStart={() => (isDragging.current = true)}
        onNodeDrag={(_, __, dragged) => onDrag(dragged)}
        onNodeDragStop={(_, __, dragged) => dragStop(dragged)}
        onSelectionDragStart={() => (isDragging.current = true)}
        onSelectionDragStop={(_, dragged) => dragStop(dragged)}
        onConnect={onConnect}
        onConnectEnd={onConnectEnd}
        isValidConnection={isValid}
        onDelete={({ nodes: gone, edges: cut }) => {
          store.editFlow((document) => withoutParts(document, gone, cut));
          if (gone.length > 0) select([]);
        }}
        onPaneClick={() => select([])}
        nodesDraggable={!readOnly}
        nodesConnectable={!readOnly}
        edgesReconnectable={false}
        deleteKeyCode={readOnly ? null : ['Delete', 'Backspace']}
        multiSelectionKeyCode={['Shift', 'Meta', 'Control']}
        nodeDragThreshold={dragThresholdPx}
        minZoom={zoom.min}
        maxZoom={zoom.max}
        aria-label={words.canvasLabel}
        ariaLabelConfig={ariaLabels}
      >
        <Background gap={22} size={1.2} color="var(--sp-line)" />
        <CanvasControls onOpened={onOpened} />
        <FlowMap />
      </ReactFlow>
      {flow.nodes.length <= 2 && !readOnly && <div className={classes['hint']}>{words.emptyHint}</div>}
      {adding !== null && <AddingPalette adding={adding} flow={flow} onChoose={choose} onClose={close} />}
    </div>
  );
}

/** One change, and one step of undo: the neighbours of removed nodes are connected. */
function withoutParts(document: FlowDocument, gone: readonly CanvasNode[], cut: readonly CanvasWire[]): FlowDocument {
  const ids = new Set(gone.map(({ id }) => id));
  const alone = cut.filter(({ source, target }) => !ids.has(source) && !ids.has(target));
  const kept = alone.reduce(
    (rest, { source, sourceHandle, target }) => disconnect(rest, source, sourceHandle ?? 'default', target),
    document,
  );
  return ids.size === 0 ? kept : removeNodes(kept, ids);
}

/** Drawn nodes; unchanged ones are the same objects, so that they are not drawn again. */
function drawnNodes(
  flow: FlowDocument,
  part: ReadonlySet<string> | null,
  before: readonly CanvasNode[],
  selected: ReadonlySet<string>,
  problems: Parameters<typeof nodeAria>[1],
): CanvasNode[] {
  const known = new Map(before.map((node) => [node.id, node]));
  const direction = wireDirection(flow);
  const wanted = part === null ? flow.nodes : flow.nodes.filter(({ id }) => part.has(id));
  return wanted.map((node): CanvasNode => {
    const old = known.get(node.id);
    const isSelected = selected.has(node.id);
    const ariaLabel = nodeAria(node, problems);
    const isSame = old?.data.node === node && old.data.direction === direction;
    if (isSame && old.selected === isSelected && old.ariaLabel === ariaLabel) return old;
    const data = isSame ? old.data : { node, direction };
    return { ...old, id: node.id, type: 'flow', position: node.position, data, selected: isSelected, ariaLabel };
  });
}
