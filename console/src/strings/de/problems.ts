/** Was ein Klick behebt, in der Liste der Probleme. */
import type { fixWords as english } from '../en/problems.ts';

export const fixWords: typeof english = {
  fix: (label) => `Beheben: ${label}`,
  useName: (name) => `„${name}“ verwenden`,
  nameIt: (name) => `In „${name}“ umbenennen`,
  remove: 'Knoten entfernen',
  wireToEnd: 'Mit dem Ende verbinden',
  moveFirst: 'An den Anfang stellen',
  addEnd: 'Ende hinzufügen',
  redraw: 'Kanten nach den Verbindungen zeichnen',
};
