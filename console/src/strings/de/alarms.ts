/** Alarme: ihre Zustände, was mit ihnen getan wird, und ihr Verlauf. */
import type { alarmWords as english } from '../en/alarms.ts';

export const alarmWords: typeof english = {
  title: 'Alarme',
  shown: (active, waiting) =>
    `${active === 0 ? 'Kein Alarm ist aktiv' : active === 1 ? '1 Alarm ist aktiv' : `${active} Alarme sind aktiv`}, ${waiting} nicht quittiert`,
  filterLabel: 'Zeigen',
  filter: { open: 'Offen', shelved: 'Zurückgestellt', all: 'Alle' },
  none: {
    open: 'Im Moment ist nichts zu tun.',
    shelved: 'Kein Alarm ist zurückgestellt.',
    all: 'Diese Anlage hat keine Alarme.',
  },
  columns: { alarm: 'Alarm', priority: 'Priorität', state: 'Zustand', since: 'Seit', actions: 'Aktionen' },
  priority: { low: 'niedrig', medium: 'mittel', high: 'hoch', critical: 'kritisch' },
  state: {
    'active-unacknowledged': 'aktiv',
    'active-acknowledged': 'aktiv, quittiert',
    'cleared-unacknowledged': 'vorbei, nicht quittiert',
    normal: 'normal',
    shelved: 'zurückgestellt',
  },
  firstOut: 'Erstmeldung',
  firstOutHint: 'Kein anderer Alarm war aktiv, als er auftrat',
  count: (n) => (n === 1 ? 'einmal' : `${n}-mal`),
  acknowledgedBy: (who) => `quittiert von ${who}`,
  shelvingEnds: (time) => `endet ${time}`,
  acknowledge: 'Quittieren',
  acknowledgeOf: (name) => `${name} quittieren`,
  acknowledged: (name) => `${name}: quittiert.`,
  acknowledgeAll: {
    open: 'Alle quittieren …',
    title: (n) => `${n} Alarme quittieren?`,
    lead: 'Alarme, deren Bedingung noch gilt, bleiben in der Liste.',
    submit: 'Alle quittieren',
    done: (n) => `${n} ${n === 1 ? 'Alarm' : 'Alarme'} quittiert.`,
  },
  shelve: {
    open: 'Zurückstellen',
    of: (name) => `${name} zurückstellen`,
    title: (name) => `„${name}“ zurückstellen`,
    lead: 'Der Alarm verschwindet aus der Ansicht, bis die Zeit um ist. Dann kommt er zurück, falls seine Bedingung noch gilt.',
    duration: 'Für',
    durations: { 900: '15 min', 3600: '1 h', 14400: '4 h', 86400: '24 h' },
    reasonHint: 'mindestens 3 Zeichen; alle sehen ihn',
    submit: 'Zurückstellen',
    done: (name) => `${name} ist zurückgestellt.`,
  },
  history: {
    title: 'Änderungen der letzten 24 Stunden',
    none: 'Kein Alarm hat sich geändert.',
    columns: { at: 'Wann', alarm: 'Alarm', state: 'Zustand', by: 'Von', reason: 'Grund' },
    more: (n) => `Die neuesten ${n} werden gezeigt.`,
  },
  all: 'Alle Alarme',
  allOpen: (n) => `Alle ${n} offenen Alarme`,
};
