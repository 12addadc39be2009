/** Runs again and again [rules §3.3]. */
import { triggerLimits } from '../limits.ts';
import type { TriggerKind } from './kind.ts';

export interface IntervalTrigger {
  readonly type: 'interval';
  readonly interval_ms: number;
}

export const interval: TriggerKind<IntervalTrigger> = {
  type: 'interval',
  fields: ['interval_ms'],
  read(reader) {
    const intervalMs = reader.integer('interval_ms', 1, triggerLimits.intervalMsMaximum);
    return intervalMs === undefined ? undefined : { interval_ms: intervalMs };
  },
  text: ({ interval_ms }, { words, duration }) => words.every(duration(interval_ms)),
  points: () => [],
  deadband: () => null,
  onEvents: false,
  isDue: ({ interval_ms }, { lastScheduledMs }, nowMs, mode) =>
    mode === 'tick' && nowMs - lastScheduledMs >= interval_ms,
  reasons: ({ interval_ms }, { lastScheduledMs }, nowMs) =>
    nowMs - lastScheduledMs < interval_ms ? ['interval-not-reached'] : [],
  nextDueMs: ({ interval_ms }, { lastScheduledMs }) => lastScheduledMs + interval_ms,
  gateMs: ({ interval_ms }) => interval_ms,
  // A rule of 1 ms runs once a tick: what it remembers is continuous from tick to tick.
  periodMs: ({ interval_ms }, tickMs) => Math.max(interval_ms, tickMs),
};
