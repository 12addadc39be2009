/** Lokale Konten der Anlage. */
import type { userWords as english } from '../en/users.ts';

export const userWords: typeof english = {
  title: 'Benutzer',
  lead: 'Konten dieser Anlage. Wer sich bei einem Anbieter anmeldet, hat sein Konto dort.',
  none: 'Es gibt noch keine Konten.',
  columns: { name: 'Name', role: 'Rolle', state: 'Zustand', created: 'Angelegt', actions: 'Aktionen' },
  state: { active: 'aktiv', invited: 'noch ohne Passwort', disabled: 'gesperrt' },
  add: 'Benutzer anlegen',
  name: 'Name',
  nameHint: 'Buchstaben, Ziffern und . _ : -',
  role: 'Rolle',
  submit: 'Anlegen',
  changeRole: 'Rolle ändern',
  roleOf: (name) => `Rolle ändern: ${name}`,
  roleLead: 'Alle Sitzungen dieses Kontos enden, und seine Tokens werden widerrufen. Das Passwort bleibt.',
  hasRole: (name, role) => `${name} hat jetzt die Rolle ${role}.`,
  reset: 'Neuer Passwort-Link',
  resetOf: (name) => `Neuer Passwort-Link für ${name}`,
  resetTitle: (name) => `Neues Passwort für ${name}?`,
  resetLead: 'Das alte Passwort gilt nicht mehr, und alle Sitzungen dieses Kontos enden.',
  disable: 'Sperren',
  disableOf: (name) => `${name} sperren`,
  disableTitle: (name) => `${name} sperren?`,
  disableLead: 'Das Konto kann sich nicht mehr anmelden, und seine Sitzungen enden in wenigen Sekunden.',
  disabled: (name) => `${name} ist gesperrt.`,
  link: (name) => `Link für ${name}`,
  linkLead:
    'Geben Sie diesen Link weiter. Er setzt das Passwort einmal, innerhalb eines Tages, und wird nicht noch einmal gezeigt.',
};
