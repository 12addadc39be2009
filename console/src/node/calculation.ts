/** Computes variables. */

import { said } from '../strings/language.ts';
import type { NodeView } from './view.ts';

export const calculationView: NodeView = {
  title: said({ en: 'Calculation', de: 'Berechnung' }),
  about: said({ en: 'Computes variables for later nodes.', de: 'Berechnet Variablen für spätere Knoten.' }),
  tone: 'computes',
  parts: ['assignments'],
  empty: said({ en: 'no variables yet', de: 'noch keine Variablen' }),
  starting: () => ({ assignments: [{ name: '', expression: '' }] }),
};
