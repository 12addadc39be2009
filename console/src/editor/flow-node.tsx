/** One drawn node: its content in a few lines and, for the shown run, its values, results and writes. */
import { Handle, type Node, type NodeProps, Position, useUpdateNodeInternals } from '@xyflow/react';
import { memo, useEffect, useRef } from 'react';
import { type ShownRun, useShownRun } from '../live/run-view.ts';
import { nodeView } from '../node/index.ts';
import type { DrawnDirection } from './canvas-view.ts';
import { useEditor } from './editor-context.ts';
import type { FlowNode as DocumentNode } from './flow-document.ts';
import classes from './flow-node.module.css';
import { drawnKind, hasInput, outputsOf } from './node-kinds.ts';
import { nodeTitle } from './node-names.ts';
import { NodeRows } from './node-rows.tsx';
import type { Problem } from './problems.ts';

export type CanvasNode = Node<{ readonly node: DocumentNode; readonly direction: DrawnDirection }, 'flow'>;

/** Sides of incoming and outgoing wires, by the direction of the flow. */
const sides = {
  right: { input: Position.Left, output: Position.Right },
  down: { input: Position.Top, output: Position.Bottom },
} as const;

function runState(run: ShownRun | null, id: string): 'visited' | 'passed' | 'skipped' | 'failed' | undefined {
  if (run === null) return undefined;
  if (run.troubles.has(id)) return run.record.outcome === 'skipped' ? 'skipped' : 'failed';
  return run.visited.has(id) ? 'visited' : 'passed';
}

export const DrawnFlowNode = memo(function DrawnFlowNode({ data, selected }: NodeProps<CanvasNode>) {
  const { node, direction } = data;
  const { problems } = useEditor();
  const run = useShownRun();
  const kind = drawnKind(node);
  const own = problems.filter((problem) => problem.node_id === node.id);
  const outputs = outputsOf(node);
  // Wires attach to outputs by name: after a change, the positions of the handles are read again.
  const updateNode = useUpdateNodeInternals();
  const names = [direction, ...outputs].join('\n');
  const drawnNames = useRef(names);
  useEffect(() => {
    if (drawnNames.current === names) return;
    drawnNames.current = names;
    updateNode(node.id);
  }, [updateNode, node.id, names]);
  const view = nodeView(kind);
  const isSmall = kind !== null && view.parts.length === 0 && view.fields === undefined;
  const kindName = view.title;
  const title = nodeTitle(node);
  const trouble = run?.troubles.get(node.id) ?? '';
  return (
    <div
      className={`${classes['node']} ${isSmall ? classes['small'] : ''}`}
      data-tone={view.tone}
      data-selected={selected}
      data-run={runState(run, node.id)}
      data-node={node.id}
    >
      {hasInput(node) && <Handle type="target" position={sides[direction].input} className={classes['handle'] ?? ''} />}
      <div className={classes['head']}>
        <span className={classes['mark']} aria-hidden />
        <span className={classes['title']}>{title}</span>
        {title !== kindName && <span className={classes['kind']}>{kindName}</span>}
        <Trouble problems={own} />
      </div>
      {trouble !== '' && <div className={classes['reason']}>{trouble}</div>}
      {!isSmall && (
        <div className={classes['body']}>
          <NodeRows node={node} run={run} />
        </div>
      )}
      {outputs.length === 1 && kind !== 'decision' && (
        <Handle
          type="source"
          id={outputs[0] ?? 'default'}
          position={sides[direction].output}
          className={classes['handle'] ?? ''}
          data-taken={run?.outputs.has(node.id) === true}
        />
      )}
    </div>
  );
});

function Trouble({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) return null;
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  return (
    <span
      className={classes['trouble']}
      data-severity={errors > 0 ? 'error' : 'warning'}
      title={problems.map(({ message }) => message).join('\n')}
    >
      {problems.length}
    </span>
  );
}
