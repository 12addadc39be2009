/** The initial view of the canvas: at a readable size, with a minimap if the flow does not fit. */
import { ControlButton, Controls, MiniMap, useNodesInitialized, useReactFlow, useStore } from '@xyflow/react';
import { type RefObject, useCallback, useEffect, useRef } from 'react';
import { FitIcon } from '../shell/icons.tsx';
import { t } from '../strings/index.ts';
import { type Box, boundsOf, movedView, openingView, usualSize } from './canvas-view.ts';
import { drawnFlow, useDraftStore } from './draft-store.ts';
import { useEditor } from './editor-context.ts';
import { nodeOf } from './flow-document.ts';
import type { CanvasNode } from './flow-node.tsx';

const words = t.editor;
const moveMs = 200;

function boxOf({ position, measured }: Pick<CanvasNode, 'position' | 'measured'>): Box {
  return { ...position, width: measured?.width ?? usualSize.width, height: measured?.height ?? usualSize.height };
}

/** Shows the flow from its start or another node on, at a readable size. */
export function useShowFlow(): (from?: string) => Promise<void> {
  const reactFlow = useReactFlow<CanvasNode>();
  const store = useDraftStore();
  return useCallback(
    async (from?: string) => {
      const drawn = new Map(reactFlow.getNodes().map((node) => [node.id, node]));
      const pane = document.querySelector('[data-testid="canvas"]')?.getBoundingClientRect();
      const { nodes } = drawnFlow(store.state().history.present);
      if (nodes.length === 0 || pane === undefined || pane.width === 0) return;
      const boxes = new Map(nodes.map((node) => [node, boxOf(drawn.get(node.id) ?? node)]));
      const first = nodes.find(({ id, type }) => (from === undefined ? type === 'start' : id === from));
      const view = openingView([...boxes.values()], first && boxes.get(first), pane);
      await reactFlow.setViewport(view);
    },
    [reactFlow, store],
  );
}

/** Brings a node into view that is selected elsewhere, such as in the list of problems. */
function useSelectedInView(id: string | undefined, wasShown: RefObject<boolean>): void {
  const reactFlow = useReactFlow<CanvasNode>();
  const store = useDraftStore();
  useEffect(() => {
    const node = id === undefined ? undefined : nodeOf(drawnFlow(store.state().history.present), id);
    const pane = document.querySelector('[data-testid="canvas"]')?.getBoundingClientRect();
    if (!wasShown.current || node === undefined || pane === undefined || pane.width === 0) return;
    const view = movedView(boxOf(reactFlow.getNode(node.id) ?? node), pane, reactFlow.getViewport());
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (view !== null) void reactFlow.setViewport(view, { duration: isStill ? 0 : moveMs });
  }, [id, wasShown, reactFlow, store]);
}

/** Reports when the initial view is set: until then nodes are hidden, because they are about to move. */
export function CanvasControls({ onOpened }: { readonly onOpened: () => void }) {
  const showFlow = useShowFlow();
  const areMeasured = useNodesInitialized();
  const wasShown = useRef(false);
  const { selected } = useEditor();
  const [id, another] = selected;
  const only = another === undefined ? id : undefined;
  useEffect(() => {
    if (!areMeasured || wasShown.current) return;
    wasShown.current = true;
    void showFlow(only).then(onOpened);
  }, [areMeasured, showFlow, only, onOpened]);
  useSelectedInView(only, wasShown);
  return (
    <Controls showInteractive={false} showFitView={false}>
      <ControlButton aria-label={words.showFlow} title={words.showFlow} onClick={() => void showFlow()}>
        <FitIcon size={14} />
      </ControlButton>
    </Controls>
  );
}

/** Only while a part of the flow is out of view. */
export function FlowMap() {
  const isBeyond = useStore(({ nodes, transform: [x, y, zoom], width, height }) => {
    if (nodes.length === 0 || width === 0) return false;
    const bounds = boundsOf(nodes.map(boxOf));
    const [left, top] = [bounds.x * zoom + x, bounds.y * zoom + y];
    return left < 0 || top < 0 || left + bounds.width * zoom > width || top + bounds.height * zoom > height;
  });
  if (!isBeyond) return null;
  return <MiniMap pannable zoomable ariaLabel={words.map} nodeColor="var(--sp-line-strong)" nodeBorderRadius={6} />;
}
