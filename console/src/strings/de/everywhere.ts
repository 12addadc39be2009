/** Wörter aller Seiten. */
import type { common as english } from '../en/everywhere.ts';

export const common: typeof english = {
  product: 'Setpoint',
  cancel: 'Abbrechen',
  close: 'Schließen',
  warned: 'Erledigt, mit Warnungen',
  retry: 'Noch einmal versuchen',
  signingIn: 'Sie werden mit Ihrem Link angemeldet …',
  loading: 'Wird geladen …',
  none: '–',
  numberWithin: (isWhole, low, high) => {
    const what = isWhole ? 'Geben Sie eine ganze Zahl' : 'Geben Sie eine Zahl';
    if (low === null) return high === null ? `${what} ein.` : `${what} bis ${high} ein.`;
    return high === null ? `${what} ab ${low} ein.` : `${what} von ${low} bis ${high} ein.`;
  },
  numberMeanings: (whole, fraction) =>
    `${whole}${fraction === null ? '' : ` oder ${fraction}`} eingeben: Der Punkt könnte Tausender trennen.`,
  moreOptions: (n) => `${n} weitere: tippen, um einzugrenzen`,
  copied: 'Kopiert',
  notCopied: 'Der Browser hat das Kopieren nicht erlaubt.',
  notSafety: 'Setpoint ist kein Sicherheitssystem.',
  language: 'Sprache',
  times: (here, site) =>
    here === site ? `Zeiten sind die der Anlage, ${site}.` : `Zeiten gelten für ${here}. Die Anlage liegt in ${site}.`,
  clockDiffers: (length) => `Uhren weichen um ${length} ab`,
  clockBehind: (length) =>
    `Die Uhr dieses Geräts geht gegenüber der des Dienstes um ${length} nach. Die Zeiten auf diesen Seiten sind die des Dienstes.`,
  clockAhead: (length) =>
    `Die Uhr dieses Geräts geht gegenüber der des Dienstes um ${length} vor. Die Zeiten auf diesen Seiten sind die des Dienstes.`,
  pages: {
    site: 'Anlage',
    points: 'Punkte',
    devices: 'Geräte',
    alarms: 'Alarme',
    rules: 'Regeln',
    audit: 'Audit',
    users: 'Benutzer',
    forecasts: 'Prognosen',
  },
  alarmsWaiting: (n) => `, ${n} nicht quittiert`,
  mainNavigation: 'Seiten',
  skip: 'Zum Inhalt springen',
  commands: 'Befehle',
  commandsHint: 'Strg K',
  theme: { toDark: 'Dunkle Farben', toLight: 'Helle Farben' },
  account: {
    menu: (subject, role) => `Angemeldet als ${subject}, ${role}`,
    auditOnly: 'nur Audit-Protokoll',
    unnamed: 'ein Token ohne Namen',
    changePassword: 'Passwort ändern …',
    signOut: 'Abmelden',
    roles: {
      Admin: 'darf Regeln ändern und ausführen und das Audit-Protokoll lesen',
      Engineer: 'darf Regeln ändern und ausführen',
      Viewer: 'darf nur lesen',
    },
    until: (time) => `Angemeldet bis ${time}`,
  },
  stream: {
    off: 'Live-Aktualisierung ist aus',
    connecting: 'Verbindung für Live-Werte wird aufgebaut …',
    live: 'Live: zeigt Werte und Läufe, sobald es sie gibt',
    lost: 'Die Live-Aktualisierung ist unterbrochen. Neue Verbindung wird aufgebaut …',
    missed: (count) => `${count} Läufe wurden ausgelassen, weil sie für diese Seite zu schnell kamen`,
    words: { off: 'Aus', connecting: 'Verbinden', live: 'Live', lost: 'Unterbrochen' },
  },
  failure: {
    unreachable:
      'Der Dienst ist nicht erreichbar. Vielleicht startet er neu. Versuchen Sie es gleich noch einmal; Ihre Eingaben bleiben erhalten.',
    'no-answer-in-time': 'Der Dienst hat nicht rechtzeitig geantwortet. Vielleicht ist er stark ausgelastet.',
    'unexpected-answer':
      'Die Konsole hat eine unerwartete Antwort erhalten. Prüfen Sie, ob ein Proxy dazwischen liegt.',
    unavailable: (message) => `Der Dienst läuft, kann dies aber gerade nicht tun: ${message}.`,
    denied: 'Ihre Rolle erlaubt das nicht.',
    unauthenticated: 'Ihre Anmeldung ist abgelaufen.',
    rateLimited: (seconds) => `Zu viele Anfragen. Versuchen Sie es in ${seconds} s noch einmal.`,
    other: (message) => message.charAt(0).toUpperCase() + message.slice(1) + (/[.!?]$/.test(message) ? '' : '.'),
    correlation: (id) => `Korrelations-Id ${id}`,
    title: 'Anfrage fehlgeschlagen',
    notFound: 'Diese Seite gibt es nicht.',
    broken: 'Auf dieser Seite ist ein Fehler aufgetreten. Änderungen an einer Regel bleiben als Entwurf erhalten.',
    partMissing:
      'Dieser Teil der Konsole konnte nicht geladen werden: Der Dienst läuft nicht oder wurde aktualisiert. Änderungen an einer Regel bleiben als Entwurf erhalten.',
    outdated:
      'Der Dienst wurde aktualisiert; diese Seite ist noch die alte Version. Änderungen an einer Regel bleiben als Entwurf erhalten.',
    reload: 'Seite neu laden',
  },
  offline: {
    unreachable:
      'Der Dienst ist nicht erreichbar. Diese Seite zeigt den letzten bekannten Stand; Ihre Eingaben bleiben erhalten.',
    unavailable: 'Der Dienst ist vorübergehend nicht verfügbar (503). Diese Seite versucht es von selbst noch einmal.',
  },
  ago: {
    now: 'gerade eben',
    seconds: (n) => `vor ${n} s`,
    minutes: (n) => `vor ${n} min`,
    hours: (n) => `vor ${n} h`,
    days: (n) => (n === 1 ? 'vor einem Tag' : `vor ${n} Tagen`),
  },
  ahead: {
    now: 'jetzt',
    seconds: (n) => `in ${n} s`,
    minutes: (n) => `in ${n} min`,
    hours: (n) => `in ${n} h`,
    days: (n) => (n === 1 ? 'in einem Tag' : `in ${n} Tagen`),
  },
  days: (n) => `${n} Tage`,
};
