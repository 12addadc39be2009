/** A configuration that the next start would refuse. Without the alarm, the mistake is found when the machine restarts. */
import { type AlarmSource, builtIn } from './source.ts';

export const configurationAlarms: AlarmSource = {
  owns: (id) => id === 'configuration-invalid',
  look: ({ probes: { configurationValid } }) => [
    {
      facts: builtIn({
        id: 'configuration-invalid',
        name: 'The configuration has errors',
        priority: 'high',
        message:
          'The service runs on, but would refuse its next start. setpoint site check and the log name the errors.',
      }),
      raw: configurationValid === null ? null : !configurationValid,
      delayMs: 0,
    },
  ],
};
