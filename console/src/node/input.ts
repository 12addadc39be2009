/** Reads points and parameters. */
import type { NodeView } from './view.ts';

export const inputView: NodeView = {
  title: 'Input',
  about: 'Reads points and site parameters into variables.',
  tone: 'reads',
  parts: ['variables', 'parameters'],
  empty: 'reads nothing yet',
  starting: () => ({ variables: [], parameters: [] }),
};
