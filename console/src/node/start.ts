/** Starts a run. */

import { said } from '../strings/language.ts';
import type { NodeView } from './view.ts';

export const startView: NodeView = {
  title: said({ en: 'Start', de: 'Start' }),
  about: said({ en: 'Where every run begins.', de: 'Hier beginnt jeder Lauf.' }),
  tone: 'plain',
  parts: [],
  starting: () => ({}),
};
