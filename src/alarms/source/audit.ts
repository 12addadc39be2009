/** An audit log that takes no events, or whose chain is broken. */
import { type AlarmSource, builtIn } from './source.ts';

export const auditAlarms: AlarmSource = {
  owns: (id) => id === 'audit-broken' || id === 'audit-unavailable',
  look: ({ auditBroken, probes: { auditWritable } }) => [
    {
      facts: builtIn({
        id: 'audit-broken',
        name: 'The audit log is broken',
        priority: 'critical',
        message: [
          ...(auditBroken === null ? [] : [auditBroken]),
          'Keep a copy of the data directory and verify it.',
        ].join(' '),
      }),
      raw: auditBroken !== null,
      delayMs: 0,
    },
    {
      facts: builtIn({
        id: 'audit-unavailable',
        name: 'The audit log takes no events',
        priority: 'critical',
        message: 'Every change is refused. Look at the free space of the data directory, or at the database.',
      }),
      raw: auditWritable === null ? null : !auditWritable,
      delayMs: 0,
    },
  ],
};
