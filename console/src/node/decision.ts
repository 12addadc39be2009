/** Chooses a branch. */
import type { NodeView } from './view.ts';

export const decisionView: NodeView = {
  title: 'Decision',
  about: 'Tries its branches in order and takes the first that is true.',
  tone: 'decides',
  parts: ['branches'],
  empty: 'no branches yet',
  starting: () => ({ branches: [{ name: 'yes', when: '' }] }),
};
