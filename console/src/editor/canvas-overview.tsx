/** The initial view of the canvas: at a readable size, with a minimap if the flow does not fit. */
import { ControlButton, Controls, MiniMap, useNodesInitialized, useReactFlow, useStore } from '@xyflow/react';
import { useCallback, useEffect, useRef } from 'react';
import { FitIcon } from '../shell/icons.tsx';
import { t } from '../strings/index.ts';
import { type Box, boundsOf, openingView, usualSize } from './canvas-view.ts';
import { drawnFlow, useDraftStore } from './draft-store.ts';
import type { CanvasNode } from './flow-node.tsx';

const words = t.editor;

function boxOf({ position, measured }: Pick<CanvasNode, 'position' | 'measured'>): Box {
  return { ...position, width: measured?.width ?? usualSize.width, height: measured?.height ?? usualSize.height };
}

/** Shows the flow from its start on, at a readable size. */
export function useShowFlow(): () => Promise<void> {
  const reactFlow = useReactFlow<CanvasNode>();
  const store = useDraftStore();
  return useCallback(async () => {
    const drawn = new Map(reactFlow.getNodes().map((node) => [node.id, node]));
    const pane = document.querySelector('[data-testid="canvas"]')?.getBoundingClientRect();
    const { nodes } = drawnFlow(store.state().history.present);
    if (nodes.length === 0 || pane === undefined || pane.width === 0) return;
    const boxes = new Map(nodes.map((node) => [node, boxOf(drawn.get(node.id) ?? node)]));
    const start = nodes.find(({ type }) => type === 'start');
    const view = openingView([...boxes.values()], start && boxes.get(start), pane);
    await reactFlow.setViewport(view);
  }, [reactFlow, store]);
}

/** Reports when the initial view is set: until then nodes are hidden, because they are about to move. */
export function CanvasControls({ onOpened }: { readonly onOpened: () => void }) {
  const showFlow = useShowFlow();
  const areMeasured = useNodesInitialized();
  const wasShown = useRef(false);
  useEffect(() => {
    if (!areMeasured || wasShown.current) return;
    wasShown.current = true;
    void showFlow().then(onOpened);
  }, [areMeasured, showFlow, onOpened]);
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
