/** Reads points and parameters. */

import { said } from '../strings/language.ts';
import type { NodeView } from './view.ts';

export const inputView: NodeView = {
  title: said({ en: 'Input', de: 'Eingang' }),
  about: said({
    en: 'Reads points and site parameters into variables.',
    de: 'Liest Punkte und Parameter der Anlage in Variablen.',
  }),
  tone: 'reads',
  parts: ['variables', 'parameters'],
  empty: said({ en: 'reads nothing yet', de: 'liest noch nichts' }),
  starting: () => ({ variables: [], parameters: [] }),
};
