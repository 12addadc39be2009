/** Kanäle zu Geräten. */
import type { deviceWords as english } from '../en/devices.ts';

export const deviceWords: typeof english = {
  title: 'Geräte',
  lead: 'Jeder Kanal führt zu einem Gerät oder Broker. Gezählt wird, seit der Dienst die Steuerung übernommen hat.',
  none: 'Diese Anlage hat keine Kanäle.',
  columns: {
    channel: 'Kanal',
    state: 'Zustand',
    read: 'Zuletzt gelesen',
    error: 'Letzter Fehler',
    readings: 'Messwerte',
    commands: 'Befehle',
  },
  states: { online: 'online', refusing: 'lehnt Befehle ab', offline: 'offline' },
  points: (n) => (n === 1 ? '1 Punkt' : `${n} Punkte`),
  never: 'nie',
  standby: 'Ein anderer Rechner spricht mit den Geräten.',
  read: (read, unread) => `${read} gelesen, ${unread} fehlgeschlagen`,
  sent: (sent, failed, dropped) => `${sent} gesendet, ${failed} fehlgeschlagen, ${dropped} als verspätet verworfen`,
};
