/** Actuators with a manual override or limit. */
import { type AlarmSource, builtIn } from './source.ts';

export const overrideAlarms: AlarmSource = {
  owns: (id) => id === 'override-active',
  look: ({ grants }) => [
    {
      facts: builtIn({
        id: 'override-active',
        name: 'An override is in force',
        priority: 'low',
        message: 'Rules do not command every actuator now. The list of overrides has who holds which, and until when.',
      }),
      raw: grants?.some(({ kind }) => kind === 'override') ?? null,
      delayMs: 0,
    },
  ],
};
