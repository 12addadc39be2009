/** Vorlagen von Regeln. */
import type { templateWords as english } from '../en/templates.ts';

export const templateWords: typeof english = {
  createTitle: 'Neue Regel aus einer Vorlage',
  createLead: 'Die Regel entsteht deaktiviert, mit den Tests ihrer Vorlage. Wählen Sie ihre Punkte und Zahlen.',
  template: 'Vorlage',
  ofSite: 'Regeln dieses Standorts mit dem Schlagwort #template',
  included: 'Mitgeliefert',
  name: 'Name',
  points: 'Punkte',
  numbers: 'Zahlen',
  create: 'Regel anlegen',
  created: (name) => `„${name}“ angelegt.`,
  incomplete: 'Wählen Sie alle Punkte und geben Sie einen Namen und alle Zahlen ein.',
  updateTitle: 'Aus der Vorlage erneuern?',
  updateLead: (template) =>
    `Die Regel wird, was „${template}“ heute mit diesen Punkten und Zahlen macht. Ihr Name bleibt, und ob sie aktiviert ist.`,
  same: 'Die Regel ist, was ihre Vorlage macht. Nichts würde sich ändern.',
  update: 'Erneuern',
  updated: 'Aus der Vorlage erneuert.',
  before: 'Gespeichert',
  after: 'Aus der Vorlage',
};
