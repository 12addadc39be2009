/** A site of several machines of which only one is left. */
import { type AlarmSource, builtIn } from './source.ts';

export const standbyAlarms: AlarmSource = {
  owns: (id) => id === 'standby-missing',
  look: ({ standbyMissing }, limits) => [
    {
      facts: builtIn({
        id: 'standby-missing',
        name: 'No other machine can take over',
        priority: 'high',
        message:
          'The other processes of the site are not connected to the database server. If this one ends, nothing controls the site. Start them again, or restart this one if it is to stay alone.',
      }),
      raw: standbyMissing,
      delayMs: limits.standby_missing_ms,
    },
  ],
};
