/**
 * When a change of a subscribed point counts [rules §3.2]. Pure decisions on one point's memory; the event
 * path and the tick path both ask these same functions.
 */
export interface ValueDeadband {
  readonly type: 'absolute' | 'percent';
  /** In the point's unit, or in percent of the last value. */
  readonly threshold: number;
}

/** The memory of an on-change rule for one subscribed point. */
export interface ChangeMemory {
  /** The value that the last run read; NaN before the first one. */
  last: number;
  /** The point was unavailable since the last run: its first usable value counts, even if equal. */
  gap: boolean;
}

/** True when `value` (finite) is a change against the memory. Deadbands compare strictly; +0 and -0 are equal. */
export function isChange(memory: ChangeMemory, value: number, deadband: ValueDeadband | null): boolean {
  if (memory.gap || memory.last !== memory.last) return true;
  const distance = Math.abs(value - memory.last);
  if (deadband === null) return distance !== 0;
  return distance > bandOf(memory.last, deadband);
}

/** The width of the band around `last`, in the point's unit. From 0 any non-zero value is a change in percent. */
export function bandOf(last: number, deadband: ValueDeadband | null): number {
  if (deadband === null) return 0;
  return deadband.type === 'absolute' ? deadband.threshold : (deadband.threshold / 100) * Math.abs(last);
}
