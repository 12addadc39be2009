/** Writes points. */
import type { NodeView } from './view.ts';

export const actionView: NodeView = {
  title: 'Action',
  about: 'Writes points.',
  tone: 'writes',
  parts: ['writes'],
  empty: 'writes nothing yet',
  starting: () => ({ writes: [] }),
};
