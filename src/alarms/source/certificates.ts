/** Certificates of channels and of the database server that end soon. Without the alarm, the first sign is a connection that fails. */
import { timeLabel } from '../../base/timestamp.ts';
import { type AlarmSource, builtIn } from './source.ts';

export const certificateAlarms: AlarmSource = {
  owns: (id) => id === 'certificate-expiring',
  look: ({ endingCertificates }) => [
    {
      facts: builtIn({
        id: 'certificate-expiring',
        name: 'A certificate expires soon',
        priority: 'medium',
        message: [
          ...(endingCertificates ?? []).map(({ what, endMs }) => `Valid until ${timeLabel(endMs)}: ${what}.`),
          'After that no new connection succeeds. Files of channels are read again by setpoint site reload.',
        ].join(' '),
      }),
      raw: endingCertificates === null ? null : endingCertificates.length > 0,
      delayMs: 0,
    },
  ],
};
