/** Ends a run. */

import { said } from '../strings/language.ts';
import type { NodeView } from './view.ts';

export const endView: NodeView = {
  title: said({ en: 'End', de: 'Ende' }),
  about: said({ en: 'Where a run ends.', de: 'Hier endet ein Lauf.' }),
  tone: 'plain',
  parts: [],
  starting: () => ({}),
};
