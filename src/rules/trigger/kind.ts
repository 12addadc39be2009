/**
 * The interface of a trigger kind: how it is read, and when a rule that has it is due. Priority, cooldown, gaps and the memory of
 * points are the same for all kinds: the scheduler keeps them.
 */
import type { PointRef, SiteCatalogue } from '../../site/catalogue.ts';
import type { Reader } from '../issues.ts';
import type { Teller } from '../teller.ts';
import type { ValueDeadband } from './change.ts';

/** When a rule ran; monotonic milliseconds, minus infinity for never. */
interface RunTimes {
  readonly lastScheduledMs: number;
  readonly lastTriggerMs: number;
}

/** State of the subscribed points, for an explanation. */
interface PointsNow {
  readonly someUnavailable: boolean;
  readonly noneChanged: boolean;
}

export interface TriggerKind<T extends { readonly type: string }> {
  readonly type: T['type'];
  /** Members beside `type`. */
  readonly fields: readonly string[];
  read(reader: Reader, catalogue: SiteCatalogue): Omit<T, 'type'> | undefined;
  /** When the rule runs, as the beginning of a sentence. */
  text(trigger: T, teller: Teller): string;
  /** The points whose changes are watched. */
  points(trigger: T): readonly PointRef[];
  deadband(trigger: T): ValueDeadband | null;
  /** True when a change may start the rule at once: then `event_min_interval_ms` holds. */
  readonly onEvents: boolean;
  /** `changed`: a subscribed point has changed since the last run. */
  isDue(trigger: T, times: RunTimes, nowMs: number, mode: 'tick' | 'event', changed: boolean): boolean;
  /** Codes of why it is not due. */
  reasons(trigger: T, times: RunTimes, nowMs: number, points: PointsNow): readonly string[];
  /** When it is due by time alone; null when it is not. */
  nextDueMs(trigger: T, times: RunTimes): number | null;
  /** How long a run keeps the next one away: a state that is worth storing at once when this is long. */
  gateMs(trigger: T): number;
  /** The period that the gap rule of stateful functions counts in [rules §5.2]. */
  periodMs(trigger: T, tickMs: number): number;
}

export type TriggerOf<Kind> = Kind extends TriggerKind<infer T> ? T : never;
