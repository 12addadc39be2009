/** Anmelden. */
import type { signInWords as english } from '../en/sign-in.ts';

export const signInWords: typeof english = {
  title: 'Bei Setpoint anmelden',
  lead: 'Öffnen Sie einen Anmelde-Link dieses Dienstes, oder melden Sie sich hier an.',
  token: 'Zugriffstoken',
  tokenHint: 'So entsteht eines: setpoint token --role Engineer --subject sie --ttl 12h',
  submit: 'Anmelden',
  failures: {
    link: 'Dieser Anmelde-Link gilt nicht mehr. Ein Link gilt einmal, innerhalb von zehn Minuten. Einen neuen gibt es mit: setpoint sign-in-link',
    failed: 'Ihre Organisation hat Sie hier nicht angemeldet. Den Grund nennt das Protokoll des Dienstes.',
    unavailable: 'Die Anmeldung mit Ihrer Organisation ist gerade nicht möglich. Versuchen Sie es später noch einmal.',
  },
  refused: 'Der Dienst hat dieses Token abgelehnt. Vielleicht ist es abgelaufen oder gehört zu einer anderen Anlage.',
  name: 'Name',
  password: 'Passwort',
  wrong: 'Name oder Passwort ist falsch.',
  provider: 'Mit Ihrer Organisation anmelden',
  or: 'oder',
  setTitle: 'Passwort wählen',
  setLead: (n) => `Mindestens ${n} Zeichen. Melden Sie sich danach mit Ihrem Namen und diesem Passwort an.`,
  newPassword: 'Neues Passwort',
  repeat: 'Passwort wiederholen',
  different: 'Die beiden sind verschieden.',
  set: 'Passwort setzen',
  passwordSet: (name) => `Das Passwort von ${name} ist gesetzt.`,
  passwordLinkUsed:
    'Dieser Link gilt nicht mehr. Ein Link gilt einmal, innerhalb eines Tages. Bitten Sie einen Admin um einen neuen.',
  show: 'Token anzeigen',
  showPassword: 'Passwort anzeigen',
  change: {
    title: 'Passwort ändern',
    lead: (n) => `Mindestens ${n} Zeichen. Ihre Sitzungen in anderen Browsern enden.`,
    current: 'Bisheriges Passwort',
    wrong: 'Das Passwort ist falsch.',
    submit: 'Ändern',
    done: 'Ihr Passwort ist geändert.',
  },
  expiredTitle: 'Ihre Anmeldung ist abgelaufen',
  expiredLead: 'Melden Sie sich wieder an, um weiterzuarbeiten. Ihre Eingaben auf dieser Seite bleiben erhalten.',
  forget: 'Abmelden',
};
