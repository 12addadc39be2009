/** Computes variables. */
import type { NodeView } from './view.ts';

export const calculationView: NodeView = {
  title: 'Calculation',
  about: 'Computes variables for later nodes.',
  tone: 'computes',
  parts: ['assignments'],
  empty: 'no variables yet',
  starting: () => ({ assignments: [{ name: '', expression: '' }] }),
};
