/**
 * Read-only live state for the live tail [data-processing §4.7]: finite values of usable quality at one moment, with the
 * wall time of their observation. Nothing here can write.
 */
import type { Clock } from '../../base/clock.ts';
import type { LiveTableReader } from '../../points/live-table.ts';
import { quality } from '../../site/quality.ts';
import { createSnapshot } from '../../site/snapshot.ts';

export interface LiveSample {
  readonly value: number;
  readonly observedMs: number;
  readonly uncertain: boolean;
}

export interface LiveState {
  /** The latest usable sample of a point of the live table, or null. */
  sample(pointIndex: number): LiveSample | null;
}

/** No live state at all: every tail stays as it was stored. */
export const noLiveState: LiveState = { sample: () => null };

/** One moment of the live table, taken now. */
export function liveStateOf(table: LiveTableReader, points: number, clock: Clock): LiveState {
  const snapshot = createSnapshot(points);
  if (!table.copyInto(snapshot, clock)) return noLiveState;
  return {
    sample(pointIndex) {
      const code = snapshot.quality[pointIndex];
      const value = snapshot.values[pointIndex];
      const observedMs = snapshot.observedMs[pointIndex];
      if (value === undefined || observedMs === undefined || !Number.isFinite(value)) return null;
      if (code !== quality.good && code !== quality.uncertain) return null;
      const ageMs = snapshot.monotonicMs - observedMs;
      // Rounded up: a sample taken just after the cutoff must not slip before it.
      return { value, observedMs: Math.ceil(snapshot.wallMs - ageMs), uncertain: code === quality.uncertain };
    },
  };
}
