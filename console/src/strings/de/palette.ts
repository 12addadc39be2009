/** Die Befehlspalette. */
import type { palette as english } from '../en/palette.ts';

export const palette: typeof english = {
  title: 'Befehle',
  placeholder: 'Regeln, Punkte, Seiten und Befehle suchen …',
  none: (text) => `Nichts gefunden für „${text}“.`,
  page: 'Seite',
  rule: 'Regel',
  point: 'Punkt',
  action: 'Befehl',
  here: 'Auf dieser Seite',
  with: (action, name) => `${action}: ${name}`,
};
