/** Chooses a branch. */

import { said } from '../strings/language.ts';
import type { NodeView } from './view.ts';

export const decisionView: NodeView = {
  title: said({ en: 'Decision', de: 'Entscheidung' }),
  about: said({
    en: 'Tries its branches in order and takes the first that is true.',
    de: 'Prüft seine Zweige der Reihe nach und nimmt den ersten, der zutrifft.',
  }),
  tone: 'decides',
  parts: ['branches'],
  empty: said({ en: 'no branches yet', de: 'noch keine Zweige' }),
  starting: () => ({ branches: [{ name: 'yes', when: '' }] }),
};
