/** An audit log that cannot store events, whose chain is broken, or which a witness does not cosign. */
import { type AlarmSource, builtIn } from './source.ts';

export const auditAlarms: AlarmSource = {
  owns: (id) => id === 'audit-broken' || id === 'audit-unavailable' || id === 'witness-silent',
  look: ({ auditBroken, silentWitnesses, probes: { auditWritable } }, limits) => [
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
    {
      facts: builtIn({
        id: 'witness-silent',
        name: 'A witness does not cosign the audit log',
        priority: 'medium',
        message: [
          ...silentWitnesses.map(({ witness, reason }) => `${witness}: ${reason}.`),
          'Until it does, nobody outside vouches for new events.',
        ].join(' '),
      }),
      raw: silentWitnesses.length > 0,
      delayMs: limits.witness_silent_ms,
    },
  ],
};
