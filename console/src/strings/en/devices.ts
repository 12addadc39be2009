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
};
