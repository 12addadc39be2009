/** An engine that had to be restarted. */
import { type AlarmSource, builtIn } from './source.ts';

export const engineAlarms: AlarmSource = {
  owns: (id) => id === 'engine-restarted',
  look: ({ engineRestartedMs, nowMs }, limits) => [
    {
      facts: builtIn({
        id: 'engine-restarted',
        name: 'The rule engine was started again',
        priority: 'high',
        message: 'It ended without an order, or its process did. Rules did not run meanwhile; the log has the reason.',
      }),
      raw: engineRestartedMs !== null && nowMs - engineRestartedMs < limits.engine_restarted_ms,
      delayMs: 0,
    },
  ],
};
