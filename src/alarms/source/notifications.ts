/** Receivers of notifications that accept none. Without the alarm, only the log shows it. */
import { type AlarmSource, builtIn } from './source.ts';

export const notificationAlarms: AlarmSource = {
  owns: (id) => id === 'notification-failing',
  look: ({ failingReceivers }, limits) => [
    {
      facts: builtIn({
        id: 'notification-failing',
        name: 'Alarms do not reach a receiver',
        priority: 'high',
        message: [
          ...(failingReceivers ?? []).map(({ receiver, reason }) => `${receiver}: ${reason}.`),
          'What it missed is sent once it accepts notifications again.',
        ].join(' '),
      }),
      raw: failingReceivers === null ? null : failingReceivers.length > 0,
      delayMs: limits.notify_failing_ms,
    },
  ],
};
