/** The view of each kind of node, by the type in the document [rules §4.2]: one file and one line per kind. */
import type { NativeType } from '../../../src/rules/node/index.ts';
import { said } from '../strings/language.ts';
import { actionView } from './action.ts';
import { calculationView } from './calculation.ts';
import { decisionView } from './decision.ts';
import { endView } from './end.ts';
import { inputView } from './input.ts';
import { periodDeltaView } from './period-delta.ts';
import { startView } from './start.ts';
import type { NodeView } from './view.ts';

const views: Readonly<Record<NativeType, NodeView>> = {
  start: startView,
  input: inputView,
  decision: decisionView,
  calculation: calculationView,
  action: actionView,
  'period-delta': periodDeltaView,
  end: endView,
};

/** A node of another dialect. */
const unknown: NodeView = {
  title: said({ en: 'Node', de: 'Knoten' }),
  about: said({
    en: 'A node of another dialect. It is kept unchanged; edit it as JSON.',
    de: 'Ein Knoten eines anderen Dialekts. Er bleibt unverändert; bearbeiten Sie ihn als JSON.',
  }),
  tone: 'unknown',
  parts: [],
  starting: () => ({}),
};

export function nodeView(kind: NativeType | null): NodeView {
  return kind === null ? unknown : views[kind];
}
