/** Writes points. */
import type { NodeView } from './view.ts';

export const action: NodeView = {
  title: 'Action',
  about: 'Writes points.',
  tone: 'writes',
  parts: ['writes'],
  empty: 'writes nothing yet',
  starting: () => ({ writes: [] }),
};
