/** Channels to devices. */

export const deviceWords = {
  title: 'Devices',
  lead: 'Each channel is the way to one device or broker. Counts are those since the service took control.',
  none: 'This site has no channels.',
  columns: {
    channel: 'Channel',
    state: 'State',
    read: 'Last reading',
    error: 'Last error',
    readings: 'Readings',
    commands: 'Commands',
  },
  states: { online: 'online', refusing: 'refuses commands', offline: 'offline' },
  points: (n: number) => (n === 1 ? '1 point' : `${n} points`),
  never: 'never',
  standby: 'Another machine talks to the devices.',
  read: (read: string, unread: string) => `${read} read, ${unread} failed`,
  sent: (sent: string, failed: string, dropped: string) =>
    `${sent} sent, ${failed} failed, ${dropped} dropped as too late`,
  look: (channel: string) => `Inspect ${channel}`,
  close: 'Close',
  trace: {
    title: 'Newest requests',
    lead: 'Requests with raw answers; updates automatically.',
    counts: (answered: string, refused: string, silent: string) =>
      `${answered} answered, ${refused} refused, ${silent} timed out`,
    none: 'No requests yet, or this driver has no trace.',
    columns: { at: 'At', took: 'Took', request: 'Request', answer: 'Answer' },
    took: (ms: string) => `${ms} ms`,
  },
  scan: {
    title: 'Registers and models',
    lead: 'Scans the registers of a Modbus device, or the models of a SunSpec device. Read-only.',
    go: 'Scan',
    none: 'No registers found.',
    models: { model: 'Model', point: 'Point', value: 'Value', register: 'Register' },
    registers: { register: 'Register', hex: 'Hex', unsigned: 'Unsigned', signed: 'Signed' },
  },
};
