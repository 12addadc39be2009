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
  look: (channel) => `${channel} untersuchen`,
  close: 'Schließen',
  trace: {
    title: 'Letzte Anfragen',
    lead: 'Anfragen mit Rohdaten der Antworten; wird automatisch aktualisiert.',
    counts: (answered, refused, silent) => `${answered} beantwortet, ${refused} abgelehnt, ${silent} ohne Antwort`,
    none: 'Noch keine Anfragen, oder der Treiber zeichnet keine auf.',
    columns: { at: 'Zeit', took: 'Dauer', request: 'Anfrage', answer: 'Antwort' },
    took: (ms) => `${ms} ms`,
  },
  scan: {
    title: 'Register und Modelle',
    lead: 'Durchsucht die Register eines Modbus-Geräts oder die Modelle eines SunSpec-Geräts. Es wird nur gelesen.',
    go: 'Durchsuchen',
    none: 'Keine Register gefunden.',
    models: { model: 'Modell', point: 'Punkt', value: 'Wert', register: 'Register' },
    registers: { register: 'Register', hex: 'Hex', unsigned: 'ohne Vorzeichen', signed: 'mit Vorzeichen' },
  },
};
