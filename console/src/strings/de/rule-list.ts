/** Die Liste der Regeln, und was man mit allen tut. */
import type { ruleListWords as english } from '../en/rule-list.ts';

export const ruleListWords: typeof english = {
  title: 'Regeln',
  search: 'Regeln suchen',
  searchHint: 'Name, Beschreibung oder #Schlagwort',
  tags: 'Schlagwörter',
  usesPoint: 'Verwendet Punkt',
  anyPoint: 'Jeder Punkt',
  noPoint: 'Kein solcher Punkt',
  import: 'Importieren',
  empty: 'Es gibt noch keine Regeln.',
  emptyLead: 'Eine Regel liest Punkte, trifft eine Entscheidung und schreibt Sollwerte. Zeichnen Sie Ihre erste Regel.',
  noMatch: (text) => (text === '' ? 'Keine Regel passt.' : `Keine Regel passt zu „${text}“.`),
  shown: (shown, total) =>
    shown === total ? `${total} ${total === 1 ? 'Regel' : 'Regeln'}` : `${shown} von ${total} Regeln`,
  counts: {
    enabled: (n) => `${n} aktiv`,
    trouble: (n) => (n === 1 ? '1 braucht Aufmerksamkeit' : `${n} brauchen Aufmerksamkeit`),
  },
  columns: { name: 'Regel', state: 'Zustand', last: 'Letzter Lauf', next: 'Nächster', actions: 'Aktionen' },
  sort: {
    by: 'Sortieren nach',
    priority: 'Nach Priorität',
    name: 'Nach Name',
    state: 'Auffällige zuerst',
    last: 'Nach letztem Lauf',
  },
  filter: { all: 'Alle', on: 'Aktiv', off: 'Inaktiv', trouble: 'Auffällig' },
  filterLabel: 'Regeln filtern',
  keys: 'Pfeiltasten: bewegen. Eingabe: öffnen. E: aktivieren oder deaktivieren. R: ausführen.',
  never: 'Noch nie gelaufen',
  fromTemplate: 'Aus einer Vorlage …',
  nextDue: (when) => `Fällig ${when}`,
  cooldownLeft: (when) => `Bereit ${when}`,
  onChange: 'Wenn sich ein Punkt ändert',
  schedulerStopped: 'Der Scheduler läuft nicht. Keine Regel läuft von selbst.',
  importDialog: {
    title: 'Regeln importieren',
    done: (n) => (n === 1 ? 'Eine Regel importiert. Sie ist inaktiv.' : `${n} Regeln importiert. Sie sind inaktiv.`),
    lead: (n) =>
      n === 1
        ? 'Legt eine Regel an, inaktiv und mit neuer Nummer:'
        : `Legt ${n} Regeln an, inaktiv und mit neuen Nummern:`,
    sameName: (name) => `${name} (eine Regel dieses Namens gibt es schon)`,
    more: (n) => `und ${n} weitere`,
    submit: (n) => (n === 1 ? 'Regel importieren' : `${n} Regeln importieren`),
    progress: (tried, all) => `${tried} von ${all}`,
    stop: 'Anhalten',
    refused: (n) => (n === 1 ? 'Eine Regel wurde nicht importiert:' : `${n} Regeln wurden nicht importiert:`),
    left: 'Die leere Regel ließ sich nicht entfernen.',
    empty: 'Die Datei enthält keine Regeln.',
    notJson: (why) => `Die Datei ${why === '' ? 'kann nicht gelesen werden' : why}.`,
    notRules: 'Die Datei enthält keine Regeln. Erwartet wird {"schema":"svc.rules.v1","rules":[…]}.',
    tooMany: (max) => `Die Datei hat mehr als ${max} Regeln.`,
    badRule: (at) => `Regel ${at} der Datei hat ein Feld vom falschen Typ.`,
    noFlow: (name) => `„${name}“ hat keinen Ablauf. Kompakte Regeln importiert die Kommandozeile.`,
  },
};
