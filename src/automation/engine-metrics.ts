/**
 * The engine's own metrics [platform §4.2]: executions by outcome, command answers by reason, tick delay, and the latency from a
 * change to its commands. Counters since the engine started.
 */
import { countDurations, type DurationCounts } from '../base/duration-counts.ts';
import type { ActionReason, ExecutionRecord, Outcome } from '../rules/record.ts';

export interface EngineMeasures {
  readonly executions: Readonly<Record<Outcome, number>>;
  /** `accepted`, or why not. */
  readonly commands: Readonly<Record<'accepted' | ActionReason, number>>;
  /** Accepted commands that a later one replaced before the device layer received them. */
  readonly superseded: number;
  readonly tickLateness: DurationCounts;
  /** From the oldest observation that woke the engine to the end of the cycle that it caused. */
  readonly eventPath: DurationCounts;
}

export interface MeasuredEngine {
  executed(record: ExecutionRecord): void;
  ticked(latenessMs: number): void;
  eventCycle(ms: number): void;
  read(): EngineMeasures;
}

/** A tick is 100 ms, and late from 25 ms on. */
const latenessBounds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.025, 0.05, 0.1, 0.25, 1];
const eventPathBounds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1];

export function measureEngine(superseded: () => number): MeasuredEngine {
  const executions: Record<Outcome, number> = { acted: 0, no_action: 0, skipped: 0, failed: 0 };
  const commands: Record<'accepted' | ActionReason, number> = {
    accepted: 0,
    'not-finite': 0,
    'out-of-range': 0,
    unavailable: 0,
    'stale-generation': 0,
    offline: 0,
    'no-route': 0,
    overridden: 0,
    outranked: 0,
    'rate-limited': 0,
  };
  const tickLateness = countDurations(latenessBounds);
  const eventPath = countDurations(eventPathBounds);
  return {
    executed(record) {
      executions[record.outcome]++;
      // A failure always has a reason; one without would be counted as `unavailable`.
      for (const { success, reason } of record.actions_executed) {
        if (reason === 'shadow') continue;
        commands[success || reason === 'limited' ? 'accepted' : (reason ?? 'unavailable')]++;
      }
    },
    ticked: tickLateness.add,
    eventCycle: eventPath.add,
    read: () => ({
      executions: { ...executions },
      commands: { ...commands },
      superseded: superseded(),
      tickLateness: tickLateness.read(),
      eventPath: eventPath.read(),
    }),
  };
}
