/** Where a run begins. */
import type { NodeView } from './view.ts';

export const startView: NodeView = {
  title: 'Start',
  about: 'Where every run begins.',
  tone: 'plain',
  parts: [],
  starting: () => ({}),
};
