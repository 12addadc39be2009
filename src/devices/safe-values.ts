/**
 * Safe values [points §4.4]: the device layer itself writes them to points that received no command for their hold time.
 */
import type { Clock } from '../base/clock.ts';
import type { TakenCommand } from '../points/command-slots.ts';
import type { PointMemory } from '../points/shared-memory.ts';
import type { SitePoint } from '../site/site.ts';

export interface SafeValues {
  commanded(index: number): void;
  /** The device may not have the safe value: it is written again when it is due. */
  unwritten(index: number): void;
  /** The safe value of a point that received no command for its hold time; once until the next command. */
  due(index: number): TakenCommand | null;
  anyDue(): boolean;
}

export function createSafeValues(points: readonly SitePoint[], memory: PointMemory, clock: Clock): SafeValues {
  interface Hold {
    readonly safeValue: number;
    readonly holdMaxMs: number;
    lastMs: number;
    written: boolean;
  }
  const startMs = clock.monotonicMs();
  const holds = new Map<number, Hold>();
  for (const { index, safeValue, holdMaxMs } of points) {
    if (safeValue !== undefined && holdMaxMs !== undefined)
      holds.set(index, { safeValue, holdMaxMs, lastMs: startMs, written: false });
  }
  const isDue = (hold: Hold): boolean => !hold.written && clock.monotonicMs() - hold.lastMs >= hold.holdMaxMs;
  return {
    commanded(index) {
      const hold = holds.get(index);
      if (hold === undefined) return;
      hold.lastMs = clock.monotonicMs();
      hold.written = false;
    },
    unwritten(index) {
      const hold = holds.get(index);
      if (hold !== undefined) hold.written = false;
    },
    due(index) {
      const hold = holds.get(index);
      if (hold === undefined || !isDue(hold)) return null;
      hold.written = true;
      Atomics.add(memory.safeWrites, index, 1);
      // Limits also apply to the safe value [points §7.2].
      const [low, high] = [memory.limitLow[index] ?? hold.safeValue, memory.limitHigh[index] ?? hold.safeValue];
      return { index, value: Math.min(Math.max(hold.safeValue, low), high), serial: 0 };
    },
    anyDue: () => [...holds.values()].some(isDue),
  };
}
