/** Adding a node on the canvas: by dropping a wire into empty space, on a wire, or with `/` after the selected node. */
import { type FinalConnectionState, useReactFlow } from '@xyflow/react';
import { type RefObject, useCallback, useEffect, useState } from 'react';
import { announce } from '../parts/announce.tsx';
import { t } from '../strings/index.ts';
import { drawnFlow, useDraftStore } from './draft-store.ts';
import { addNode } from './edit-flow.ts';
import { connect, type FlowWire, splice, wireFault } from './edit-wires.ts';
import { useEditor } from './editor-context.ts';
import { type FlowDocument, type FlowNode, nodeOf, type Position, wiresOf } from './flow-document.ts';
import type { CanvasNode } from './flow-node.tsx';
import { fittingKinds, type NodeKind, outputsOf } from './node-kinds.ts';
import { NodePalette } from './node-palette.tsx';

const titles = t.nodes.palette;

/** The end that the new node is wired to. */
type Anchor =
  | { readonly kind: 'output'; readonly nodeId: string; readonly output: string }
  | { readonly kind: 'input'; readonly nodeId: string }
  | { readonly kind: 'wire'; readonly wire: FlowWire }
  | { readonly kind: 'nothing' };

export interface Adding {
  readonly anchor: Anchor;
  /** Position of the palette, in pixels of the canvas. */
  readonly screen: Position;
  /** Where the node is placed. */
  readonly flow: Position;
}

const beside = 80;
const above = 24;

export function useAdding(frame: RefObject<HTMLDivElement | null>) {
  const store = useDraftStore();
  const { select, selected, readOnly } = useEditor();
  const reactFlow = useReactFlow<CanvasNode>();
  const [adding, setAdding] = useState<Adding | null>(null);
  const open = useCallback(
    (anchor: Anchor, pointer: Position) => {
      const bounds = frame.current?.getBoundingClientRect();
      if (bounds === undefined || readOnly) return;
      const screen = insideOf(bounds, { x: pointer.x - bounds.left, y: pointer.y - bounds.top });
      setAdding({ anchor, screen, flow: reactFlow.screenToFlowPosition(pointer) });
    },
    [frame, readOnly, reactFlow],
  );
  const openOnWire = useCallback(
    (wire: FlowWire) => {
      const [from, to] = [wire.source, wire.target].map((id) => reactFlow.getInternalNode(id));
      if (from === undefined || to === undefined) return;
      const middle = { x: (from.position.x + to.position.x) / 2, y: (from.position.y + to.position.y) / 2 };
      open({ kind: 'wire', wire }, reactFlow.flowToScreenPosition(middle));
    },
    [open, reactFlow],
  );
  /** After the selected node, or in the middle of the canvas. */
  const openByKey = useCallback(() => {
    const bounds = frame.current?.getBoundingClientRect();
    if (bounds === undefined) return;
    const [id, another] = selected;
    const node = id === undefined ? undefined : nodeOf(drawnFlow(store.state().history.present), id);
    const middle = { x: bounds.left + bounds.width / 2, y: bounds.top + bounds.height / 2 };
    if (node === undefined || another !== undefined) return open({ kind: 'nothing' }, middle);
    const width = reactFlow.getInternalNode(node.id)?.measured.width ?? 0;
    const place = { x: node.position.x + width + beside, y: node.position.y + above };
    return open(anchorAfter(node), reactFlow.flowToScreenPosition(place));
  }, [frame, open, reactFlow, selected, store]);
  useQuickAddKey(openByKey);

  /** A wire was dropped: refused with the reason on a node, a choice of nodes in empty space. */
  const onConnectEnd = (event: MouseEvent | TouchEvent, state: FinalConnectionState): void => {
    const { fromNode, fromHandle, toNode, toHandle } = state;
    if (fromNode === null || fromHandle === null) return;
    if (toNode !== null) {
      const [source, target] = fromHandle.type === 'source' ? [fromNode, toNode] : [toNode, fromNode];
      const output = (fromHandle.type === 'source' ? fromHandle : toHandle)?.id ?? 'default';
      const fault = wireFault(drawnFlow(store.state().history.present), source.id, output, target.id);
      if (state.isValid !== true && fault !== null) announce(t.nodes.wire.faults[fault]);
      return;
    }
    const pointer = 'changedTouches' in event ? event.changedTouches[0] : event;
    if (pointer === undefined) return;
    const anchor: Anchor =
      fromHandle.type === 'source'
        ? { kind: 'output', nodeId: fromNode.id, output: fromHandle.id ?? 'default' }
        : { kind: 'input', nodeId: fromNode.id };
    open(anchor, { x: pointer.clientX, y: pointer.clientY });
  };
  const close = useCallback(() => setAdding(null), []);
  const choose = (kind: NodeKind): void => {
    if (adding === null) return;
    setAdding(null);
    let added = '';
    store.editFlow((document) => {
      const made = placed(document, kind, adding);
      added = made.id;
      return made.document;
    });
    select([added]);
  };
  return { adding, openOnWire, onConnectEnd, close, choose };
}

function anchorAfter(node: FlowNode): Anchor {
  const outputs = outputsOf(node);
  const wires = wiresOf(node);
  const output = outputs.find((name) => (wires[name] ?? []).length === 0) ?? outputs[0];
  return output === undefined ? { kind: 'input', nodeId: node.id } : { kind: 'output', nodeId: node.id, output };
}

/** The `/` key outside of fields, dialogs and menus. */
function useQuickAddKey(onKey: () => void): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
      const within = 'input, textarea, select, [contenteditable], [role="dialog"], [role="menu"], [role="listbox"]';
      if (event.target instanceof Element && event.target.closest(within) !== null) return;
      event.preventDefault();
      onKey();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [onKey]);
}

const paletteTitles = {
  output: titles.fitsAfter,
  input: titles.fitsBefore,
  wire: titles.fitsBetween,
  nothing: titles.title,
} as const;

interface PaletteParts {
  readonly adding: Adding;
  readonly flow: FlowDocument;
  readonly onChoose: (kind: NodeKind) => void;
  readonly onClose: () => void;
}

export function AddingPalette({ adding: { anchor, screen }, flow, onChoose, onClose }: PaletteParts) {
  const hasStart = flow.nodes.some(({ type }) => type === 'start');
  const place = { x: screen.x, y: screen.y };
  return (
    <NodePalette
      title={paletteTitles[anchor.kind]}
      kinds={kindsAt(anchor, hasStart)}
      {...place}
      onChoose={onChoose}
      onClose={onClose}
    />
  );
}

function kindsAt({ kind }: Anchor, hasStart: boolean): NodeKind[] {
  const after = fittingKinds('output', hasStart);
  if (kind === 'input') return fittingKinds('input', hasStart);
  return kind === 'wire' ? after.filter((other) => other !== 'end') : after;
}

const paletteSize = { width: 280, height: 460 };

function insideOf(bounds: DOMRect, { x, y }: Position): Position {
  const within = (value: number, most: number): number => Math.max(8, Math.min(value, most));
  return { x: within(x, bounds.width - paletteSize.width), y: within(y, bounds.height - paletteSize.height) };
}

/** The new node at its position, with its wire. */
function placed(
  document: FlowDocument,
  kind: NodeKind,
  { anchor, flow }: Adding,
): { document: FlowDocument; id: string } {
  const made = addNode(document, kind, { x: flow.x, y: flow.y - above });
  switch (anchor.kind) {
    case 'output':
      return { ...made, document: connect(made.document, anchor.nodeId, anchor.output, made.id) };
    case 'input': {
      const node = nodeOf(made.document, made.id);
      const first = node === undefined ? undefined : outputsOf(node)[0];
      return first === undefined ? made : { ...made, document: connect(made.document, made.id, first, anchor.nodeId) };
    }
    case 'wire':
      return { ...made, document: splice(made.document, made.id, anchor.wire) };
    case 'nothing':
      return made;
  }
}
