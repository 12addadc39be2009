/** Files of the configuration that the next start would refuse: a mistake in them is otherwise found when the machine restarts. */
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
          'The service runs as before, but would not start again. The log and setpoint site check name the errors.',
      }),
      raw: configurationValid === null ? null : !configurationValid,
      delayMs: 0,
    },
  ],
};
