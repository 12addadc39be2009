/** An audit log that cannot store events, or whose chain is broken. */
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
        name: 'The audit log cannot store events',
        priority: 'critical',
        message: 'Every change is refused. Check the free space of the data directory, and the database.',
      }),
      raw: auditWritable === null ? null : !auditWritable,
      delayMs: 0,
    },
  ],
};
