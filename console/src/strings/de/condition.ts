/** Wie man eine Bedingung baut, im Formular einer Entscheidung. */
import type { conditionWords as english } from '../en/condition.ts';

export const conditionWords: typeof english = {
  title: 'Bedingung',
  compared: 'Verglichen wird',
  now: (value) => `jetzt ${value}`,
  side: 'Gilt, wenn es liegt',
  above: 'über',
  below: 'unter',
  value: 'Wert',
  release: 'Endet bei',
  seconds: 'Seit Sekunden',
  operand: 'Geben Sie eine Zahl ein oder einen Namen, der hier bekannt ist.',
  releaseSide: { above: 'Das Ende liegt unter dem Wert.', below: 'Das Ende liegt über dem Wert.' },
  incomplete: 'Wählen Sie, was verglichen wird, und geben Sie einen Wert ein.',
  use: 'Diese Bedingung übernehmen',
  chart: (threshold) =>
    `Die letzten 24 Stunden, mit der Schwelle bei ${threshold}. Ziehen Sie sie, oder geben Sie unten einen Wert ein.`,
  noThreshold: 'kein Wert',
  noHistory: 'Zu diesem Punkt wurde in den letzten 24 Stunden nichts aufgezeichnet.',
};
