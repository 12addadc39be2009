/** Was eine Regel gerade tut, und die Dialoge dazu. */
import type { rules as english } from '../en/rules.ts';

export const rules: typeof english = {
  create: 'Neue Regel',
  enable: 'Aktivieren',
  shadow: 'Im Schattenbetrieb aktivieren',
  promote: 'Scharf schalten',
  inShadow: (state) => `${state}, im Schattenbetrieb`,
  disable: 'Deaktivieren',
  run: 'Jetzt ausführen',
  delete: 'Löschen',
  open: (name) => `${name} öffnen`,
  more: (name) => `Weitere Aktionen für ${name}`,
  states: {
    waiting: 'Wartet',
    cooldown: 'Pausiert',
    disabled: 'Inaktiv',
    'not-runnable': 'Kann nicht laufen',
    unknown: 'Unbekannt',
  },
  outcomes: { acted: 'Hat geschrieben', no_action: 'Nichts zu tun', skipped: 'Übersprungen', failed: 'Fehlgeschlagen' },
  outcomeHints: {
    acted: 'Alle Schreibvorgänge wurden angenommen.',
    no_action: 'Die Regel lief und hatte nichts zu schreiben. Das ist kein Fehler.',
    skipped: 'Ein Eingang hatte keinen brauchbaren Wert, deshalb hat die Regel nichts entschieden.',
    failed: 'Ein Wert war nicht endlich, oder ein Schreibvorgang wurde nicht angenommen.',
  },
  reasons: {
    disabled: 'Die Regel ist inaktiv.',
    'not-runnable': 'Der Ablauf kann nicht laufen.',
    'no-runnable-flow': 'Die Regel hat noch keinen Ablauf.',
    'invalid-flow': 'Der gespeicherte Ablauf passt nicht mehr zur Anlage.',
    'invalid-trigger': 'Der gespeicherte Auslöser passt nicht mehr zur Anlage.',
    cooldown: 'Sie hat vor Kurzem geschrieben und pausiert.',
    'interval-not-reached': 'Sie wartet auf das nächste Intervall.',
    'time-deadband': 'Sie lief vor Kurzem: Änderungen warten, bis das Zeittotband vorbei ist.',
    'point-unavailable': 'Ein auslösender Punkt hat keinen brauchbaren Wert.',
    'no-change': 'Kein auslösender Punkt hat sich genug geändert.',
  },
  whyNot: {
    open: (state) => `${state}: Warum läuft sie jetzt nicht?`,
    missing: (point) => `${point}: kein brauchbarer Wert.`,
    valued: (point, value) => `${point}: ${value}.`,
    moved: (point, value, by, of) => `${point}: ${value}, um ${by} von ${of} bewegt.`,
    cooldown: (seconds) => `Pause: noch ${seconds} s.`,
    due: (seconds) => (seconds === 0 ? 'Jetzt fällig.' : `Fällig in ${seconds} s.`),
    decisions: 'Entscheidungen des letzten Laufs',
    decision: (node, branch, when, result, operands) =>
      `${node}, ${branch}: ${when} ist ${result}${operands === '' ? '' : ` (${operands})`}`,
  },
  useAsTemplate: 'Als Vorlage verwenden …',
  updateFromTemplate: 'Aus der Vorlage erneuern …',
  takesTurns: (others, point) =>
    `Wechselt sich mit ${others} bei ${point} ab: Beide schreiben ihn immer wieder. Geben Sie dem Punkt priority_hold_ms und den Regeln verschiedene Prioritäten, oder einer Regel eine Bedingung, die die andere ausschließt.`,
  otherReason: (code) => `Grund: ${code}`,
  statusUnavailable: 'Die Engine antwortet nicht, deshalb ist der Zustand der Regel unbekannt.',
  dialog: {
    enableTitle: (name) => `„${name}“ aktivieren?`,
    enableBody: 'Ab jetzt führt der Scheduler diese Regel aus, und was sie schreibt, geht an die Geräte.',
    enableStub: 'Sie tut nichts, bis Sie einen Ablauf zeichnen.',
    shadowTitle: (name) => `„${name}“ im Schattenbetrieb aktivieren?`,
    shadowBody:
      'Ab jetzt führt der Scheduler diese Regel aus und zeichnet auf, was sie schreiben würde. An die Geräte geht nichts, bis Sie die Regel scharf schalten.',
    promoteTitle: (name) => `„${name}“ scharf schalten?`,
    promoteBody: 'Die Regel lief im Schattenbetrieb. Ab ihrem nächsten Lauf gehen ihre Werte an die Geräte.',
    disableTitle: (name) => `„${name}“ deaktivieren?`,
    disableBody:
      'Der Scheduler führt diese Regel nicht mehr aus. Ein begonnener Lauf wird beendet. Punkte behalten die Werte, die die Regel geschrieben hat.',
    runTitle: (name) => `„${name}“ jetzt einmal ausführen?`,
    runBody:
      'Das ist ein echter Lauf mit Live-Werten und kein Test. Was er schreibt, geht an die Geräte. Auslöser und Pause gelten nicht.',
    runTryHint:
      'Um das Ergebnis zu sehen, ohne etwas zu senden, öffnen Sie die Regel und wählen Sie „Hier ausprobieren“.',
    deleteTitle: (name) => `„${name}“ löschen?`,
    deleteBody:
      'Die Regel läuft nicht mehr und verlässt die Liste. Ihre Revisionen und ihre Einträge im Audit-Protokoll bleiben: Aus der letzten Revision lässt sie sich inaktiv wiederherstellen.',
    writes: 'Sie kann schreiben:',
    writesNothing: 'Ihr Ablauf schreibt keinen Punkt.',
    audited: 'Das wird unter Ihrem Namen im Audit-Protokoll festgehalten.',
    confirmEnable: 'Regel aktivieren',
    confirmShadow: 'Im Schattenbetrieb aktivieren',
    confirmPromote: 'Regel scharf schalten',
    confirmDisable: 'Regel deaktivieren',
    confirmRun: 'Jetzt ausführen',
    confirmDelete: 'Regel löschen',
  },
  createDialog: {
    title: 'Neue Regel',
    name: 'Name',
    description: 'Wofür ist sie? (optional)',
    nameNeeded: 'Geben Sie einen Namen ein.',
    submit: 'Anlegen und zeichnen',
    lead: 'Eine neue Regel ist inaktiv und leer. Zeichnen Sie als Nächstes ihren Ablauf.',
  },
  done: {
    enabled: (name) => `„${name}“ ist aktiv.`,
    shadow: (name) => `„${name}“ läuft im Schattenbetrieb.`,
    promoted: (name) => `„${name}“ ist scharf geschaltet und steuert jetzt.`,
    disabled: (name) => `„${name}“ ist inaktiv.`,
    deleted: (name) => `„${name}“ ist gelöscht.`,
    created: (name) => `„${name}“ ist angelegt.`,
    ranShadow: (outcome) => `${outcome}, im Schattenbetrieb: Es wurde nichts gesendet.`,
    ran: (outcome, succeeded, attempted) =>
      attempted === 0
        ? `${outcome}. Es gab nichts zu schreiben.`
        : `${outcome}. ${succeeded} von ${attempted} Schreibvorgängen wurden angenommen.`,
    auditIncomplete: 'Die Änderung ist erfolgt, aber ihr letzter Audit-Eintrag konnte nicht geschrieben werden.',
  },
};
