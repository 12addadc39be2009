/** Where a run ends. */
import type { NodeView } from './view.ts';

export const endView: NodeView = {
  title: 'End',
  about: 'Where a run ends.',
  tone: 'plain',
  parts: [],
  starting: () => ({}),
};
