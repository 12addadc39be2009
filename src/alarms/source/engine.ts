/** An engine that had to be restarted, that cannot keep up, or that lost records. */
import { type AlarmSource, builtIn } from './source.ts';

export const engineAlarms: AlarmSource = {
  owns: (id) => id === 'engine-restarted' || id === 'engine-overloaded' || id === 'executions-lost',
  look: ({ engineRestartedMs, missedTicks, executionsLostMs, nowMs }, limits) => [
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
    {
      facts: builtIn({
        id: 'engine-overloaded',
        name: 'The rule engine cannot keep up',
        priority: 'high',
        message:
          'It missed ticks, so rules run late or less often. The machine is too busy, or its rules take too long: see setpoint_scheduler_queue_depth.',
      }),
      raw: missedTicks === null ? null : missedTicks * 100 > limits.engine_overloaded_percent,
      delayMs: 0,
    },
    {
      facts: builtIn({
        id: 'executions-lost',
        name: 'Records of executions were lost',
        priority: 'high',
        message:
          'These, or lines of rule logs, came faster than the disk takes them, or it took none. Rules went on; what they recorded has a gap.',
      }),
      raw: executionsLostMs !== null && nowMs - executionsLostMs < limits.executions_lost_ms,
      delayMs: 0,
    },
  ],
};
