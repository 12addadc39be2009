/** Writes points. */

import { said } from '../strings/language.ts';
import type { NodeView } from './view.ts';

export const actionView: NodeView = {
  title: said({ en: 'Action', de: 'Aktion' }),
  about: said({ en: 'Writes points.', de: 'Schreibt Punkte.' }),
  tone: 'writes',
  parts: ['writes'],
  empty: said({ en: 'writes nothing yet', de: 'schreibt noch nichts' }),
  starting: () => ({ writes: [] }),
};
