/** Whether an alarm's condition holds [alarms §2]: thresholds with a deadband, and delays. Pure, in monotonic milliseconds. */
import type { AlarmThreshold } from '../site/site-alarms.ts';

/** Whether `value` is beyond the threshold; between the threshold and its deadband the state does not change. */
export function beyond({ kind, value: edge, deadband }: AlarmThreshold, value: number, was: boolean): boolean {
  switch (kind) {
    case 'above':
      return value > edge || (was && value > edge - deadband);
    case 'below':
      return value < edge || (was && value < edge + deadband);
    case 'equals':
      return value === edge || (was && Math.abs(value - edge) <= deadband);
  }
}

/** One alarm's condition between two checks. */
export interface Condition {
  /** As last seen, without the delay. */
  readonly raw: boolean;
  /** Since when it has held without interruption. */
  readonly sinceMs: number;
  /** It lasted for the delay. */
  readonly holds: boolean;
}

/** `raw` is null without a usable observation: the condition does not change. */
export function seenNow(before: Condition, raw: boolean | null, delayMs: number, nowMs: number): Condition {
  if (raw === null) return before;
  const sinceMs = raw === before.raw ? before.sinceMs : nowMs;
  // A condition that held before a restart continues to hold.
  return { raw, sinceMs, holds: raw && (before.holds || nowMs - sinceMs >= delayMs) };
}
