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
  look: (channel: string) => `Look into ${channel}`,
  close: 'Close',
  trace: {
    title: 'Newest exchanges',
    lead: 'What went over the channel, with the raw words of the device. The list follows by itself.',
    counts: (answered: string, refused: string, silent: string) =>
      `${answered} answered, ${refused} refused, ${silent} without an answer`,
    none: 'Nothing was asked over this channel yet, or its driver keeps no exchanges.',
    columns: { at: 'At', took: 'Took', request: 'Request', answer: 'Answer' },
    took: (ms: string) => `${ms} ms`,
  },
  scan: {
    title: 'What the device has',
    lead: 'Reads between the polls which registers answer, or the models of a SunSpec device. Nothing is written.',
    go: 'Scan',
    none: 'Nothing answered.',
    models: { model: 'Model', point: 'Point', value: 'Value', register: 'Register' },
    registers: { register: 'Register', hex: 'Hex', unsigned: 'Unsigned', signed: 'Signed' },
  },
};
