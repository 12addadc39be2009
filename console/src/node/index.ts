/** How the editor shows each kind of node, by the type in the document [rules §4.2]: one file and one line a kind. */
import type { NativeType } from '../../../src/rules/node/index.ts';
import { action } from './action.ts';
import { calculation } from './calculation.ts';
import { decision } from './decision.ts';
import { end } from './end.ts';
import { input } from './input.ts';
import { periodDelta } from './period-delta.ts';
import { start } from './start.ts';
import type { NodeView } from './view.ts';

const views: Readonly<Record<NativeType, NodeView>> = {
  start,
  input,
  decision,
  calculation,
  action,
  'period-delta': periodDelta,
  end,
};

/** A node of another dialect. */
const unknown: NodeView = {
  title: 'Node',
  about: 'A node of another dialect. It is kept unchanged; edit it as JSON.',
  tone: 'unknown',
  parts: [],
  starting: () => ({}),
};

export function viewOf(kind: NativeType | null): NodeView {
  return kind === null ? unknown : views[kind];
}
