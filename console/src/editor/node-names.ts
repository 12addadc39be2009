/** Display names of nodes, on the canvas and for screen readers. */

import { nodeView } from '../node/index.ts';
import { t } from '../strings/index.ts';
import { type FlowNode, labelOf, textOf } from './flow-document.ts';
import { drawnKind } from './node-kinds.ts';
import type { Problem } from './problems.ts';

const words = t.nodes;

export function nodeTitle(node: FlowNode): string {
  const label = labelOf(node);
  return label === '' ? nodeView(drawnKind(node)).title : label;
}

export function nodeAria(node: FlowNode, problems: readonly Problem[]): string {
  const count = problems.filter((problem) => problem.node_id === node.id).length;
  return words.aria(nodeView(drawnKind(node)).title, labelOf(node) || textOf(node.id), count);
}
