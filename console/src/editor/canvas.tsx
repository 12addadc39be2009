/**
 * The canvas: the draft's flow, drawn. What is dragged moves at once and enters the draft when it is let go; everything
 * else that is done here is a change of the draft, which is then drawn anew.
 */
import '@xyflow/react/dist/base.css';
import {
  Background,
  type Connection,
  Controls,
  type Edge,
  type FinalConnectionState,
  type OnNodesChange,
  ReactFlow,
  useNodesState,
  useReactFlow,
} from '@xyflow/react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { takenEdges, useShownRun } from '../live/run-view.ts';
import { t } from '../strings/index.ts';
import classes from './canvas.module.css';
import { drawnFlow, useDraft, useDraftStore } from './draft-store.ts';
import { addNode, canConnect, connect, disconnect, edgeKey, moveNodes, removeNodes } from './edit-flow.ts';
import { useEditor } from './editor-context.ts';
import { type FlowDocument, type Position, wiresOf } from './flow-document.ts';
import { type CanvasNode, DrawnFlowNode } from './flow-node.tsx';
import { fittingKinds, type NodeKind, outputsOf } from './node-kinds.ts';
import { nodeAria } from './node-names.ts';
import { NodePalette } from './node-palette.tsx';

const nodeTypes = { flow: DrawnFlowNode };
const words = t.editor;
/** A press that moves less than this is a click. */
const dragThresholdPx = 3;
/** So far out that a flow of hundreds of nodes is seen whole. */
const zoom = { min: 0.05, max: 2 };

interface Dropped {
  readonly nodeId: string;
  readonly output: string | null;
  readonly from: 'output' | 'input';
  readonly screen: Position;
  readonly flow: Position;
}

/** The nodes as they are drawn, and what the person does to them on the canvas. */
function useDrawnNodes(flow: FlowDocument) {
  const { problems, selected, select } = useEditor();
  const [nodes, setNodes, applyChanges] = useNodesState<CanvasNode>([]);

  useEffect(() => {
    setNodes((before) => drawnNodes(flow, before, selected, problems));
  }, [flow, selected, problems, setNodes]);

  const onNodesChange: OnNodesChange<CanvasNode> = useCallback(
    (changes) => {
      // What is removed is removed from the draft, below.
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
    [applyChanges, select, selected],
  );
  return { nodes, onNodesChange };
}

/** Where a wire was dropped into empty space, and what is made there. */
function useDropped() {
  const store = useDraftStore();
  const { select, readOnly } = useEditor();
  const reactFlow = useReactFlow<CanvasNode>();
  const frame = useRef<HTMLDivElement>(null);
  const [dropped, setDropped] = useState<Dropped | null>(null);
  const onConnectEnd = (event: MouseEvent | TouchEvent, state: FinalConnectionState): void => {
    if (readOnly || state.toNode !== null || state.fromNode === null || state.fromHandle === null) return;
    const pointer = 'changedTouches' in event ? event.changedTouches[0] : event;
    const bounds = frame.current?.getBoundingClientRect();
    if (pointer === undefined || bounds === undefined) return;
    setDropped({
      nodeId: state.fromNode.id,
      output: state.fromHandle.id ?? null,
      from: state.fromHandle.type === 'source' ? 'output' : 'input',
      screen: insideOf(bounds, { x: pointer.clientX - bounds.left, y: pointer.clientY - bounds.top }),
      flow: reactFlow.screenToFlowPosition({ x: pointer.clientX, y: pointer.clientY }),
    });
  };
  const close = useCallback(() => setDropped(null), []);
  const choose = (kind: NodeKind): void => {
    if (dropped === null) return;
    setDropped(null);
    let added = '';
    store.editFlow((document) => {
      const made = placed(document, kind, dropped);
      added = made.id;
      return made.document;
    });
    select([added]);
  };
  return { frame, dropped, onConnectEnd, close, choose };
}

export function Canvas() {
  const store = useDraftStore();
  const { history } = useDraft();
  const { select, readOnly } = useEditor();
  const flow = drawnFlow(history.present);
  const run = useShownRun();
  const { nodes, onNodesChange } = useDrawnNodes(flow);
  const { frame, dropped, onConnectEnd, close, choose } = useDropped();
  const taken = useMemo(() => (run === null ? null : takenEdges(run, flow)), [run, flow]);
  const edges = useMemo(() => drawnEdges(flow, taken), [flow, taken]);
  const placeMoved = (moved: readonly CanvasNode[]): void =>
    store.editFlow((document) => moveNodes(document, new Map(moved.map(({ id, position }) => [id, position]))));
  const onConnect = ({ source, sourceHandle, target }: Connection): void =>
    store.editFlow((document) => connect(document, source, sourceHandle ?? 'default', target));
  const isValid = ({ source, sourceHandle, target }: Connection | Edge): boolean =>
    canConnect(flow, source, sourceHandle ?? 'default', target);
  return (
    <div ref={frame} className={classes['canvas']} data-testid="canvas">
      <ReactFlow<CanvasNode>
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        onNodesChange={onNodesChange}
        onNodeDragStop={(_, __, moved) => placeMoved(moved)}
        onSelectionDragStop={(_, moved) => placeMoved(moved)}
        onConnect={onConnect}
        onConnectEnd={onConnectEnd}
        isValidConnection={isValid}
        onNodesDelete={(gone) => {
          store.editFlow((document) => removeNodes(document, new Set(gone.map(({ id }) => id))));
          select([]);
        }}
        onEdgesDelete={(gone) => store.editFlow((document) => gone.reduce(withoutEdge, document))}
        onPaneClick={() => select([])}
        nodesDraggable={!readOnly}
        nodesConnectable={!readOnly}
        edgesReconnectable={false}
        deleteKeyCode={readOnly ? null : ['Delete', 'Backspace']}
        multiSelectionKeyCode={['Shift', 'Meta', 'Control']}
        nodeDragThreshold={dragThresholdPx}
        minZoom={zoom.min}
        maxZoom={zoom.max}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.12 }}
        aria-label={words.canvasLabel}
      >
        <Background gap={22} size={1.2} color="var(--sp-line)" />
        <Controls showInteractive={false} />
      </ReactFlow>
      {flow.nodes.length <= 2 && !readOnly && <div className={classes['hint']}>{words.emptyHint}</div>}
      {dropped !== null && <DropPalette dropped={dropped} flow={flow} onChoose={choose} onClose={close} />}
    </div>
  );
}

interface PaletteParts {
  readonly dropped: Dropped;
  readonly flow: FlowDocument;
  readonly onChoose: (kind: NodeKind) => void;
  readonly onClose: () => void;
}

function DropPalette({ dropped, flow, onChoose, onClose }: PaletteParts) {
  return (
    <NodePalette
      title={dropped.from === 'output' ? t.nodes.palette.fitsAfter : t.nodes.palette.fitsBefore}
      kinds={fittingKinds(
        dropped.from,
        flow.nodes.some(({ type }) => type === 'start'),
      )}
      x={dropped.screen.x}
      y={dropped.screen.y}
      onChoose={onChoose}
      onClose={onClose}
    />
  );
}

function withoutEdge(document: FlowDocument, { source, sourceHandle, target }: Edge): FlowDocument {
  return disconnect(document, source, sourceHandle ?? 'default', target);
}

const paletteSize = { width: 280, height: 460 };

function insideOf(bounds: DOMRect, { x, y }: Position): Position {
  const within = (value: number, most: number): number => Math.max(8, Math.min(value, most));
  return { x: within(x, bounds.width - paletteSize.width), y: within(y, bounds.height - paletteSize.height) };
}

/** The new node where the wire was dropped, wired to where it came from. */
function placed(document: FlowDocument, kind: NodeKind, { nodeId, output, from, flow }: Dropped) {
  const made = addNode(document, kind, { x: flow.x, y: flow.y - 24 });
  if (from === 'output') return { ...made, document: connect(made.document, nodeId, output ?? 'default', made.id) };
  const node = made.document.nodes.find(({ id }) => id === made.id);
  const first = node === undefined ? undefined : outputsOf(node)[0];
  return { ...made, document: first === undefined ? made.document : connect(made.document, made.id, first, nodeId) };
}

/** Drawn nodes; those that did not change are the same objects, so that nothing is drawn twice. */
function drawnNodes(
  flow: FlowDocument,
  before: readonly CanvasNode[],
  selected: ReadonlySet<string>,
  problems: Parameters<typeof nodeAria>[1],
): CanvasNode[] {
  const known = new Map(before.map((node) => [node.id, node]));
  return flow.nodes.map((node): CanvasNode => {
    const old = known.get(node.id);
    const isSelected = selected.has(node.id);
    const ariaLabel = nodeAria(node, problems);
    if (old?.data.node === node && old.selected === isSelected && old.ariaLabel === ariaLabel) return old;
    const data = old?.data.node === node ? old.data : { node };
    return { ...old, id: node.id, type: 'flow', position: node.position, data, selected: isSelected, ariaLabel };
  });
}

function drawnEdges(flow: FlowDocument, taken: ReadonlySet<string> | null): Edge[] {
  const ids = new Set(flow.nodes.map(({ id }) => id));
  return flow.nodes.flatMap((node) =>
    Object.entries(wiresOf(node)).flatMap(([output, targets]) =>
      targets
        .filter((target) => ids.has(target))
        .map((target): Edge => {
          const id = edgeKey(node.id, output, target);
          const className = taken === null ? '' : taken.has(id) ? 'taken' : 'idle';
          return { id, source: node.id, sourceHandle: output, target, className };
        }),
    ),
  );
}
