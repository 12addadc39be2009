/**
 * A snapshot: the live values of all points at one moment, indexed by `PointFacts.index`. Every input of one
 * execution comes from one snapshot [rules §7.1]. Plain typed arrays: the engine refills the same
 * snapshot each cycle without allocating.
 */
import { isQualityCode, type QualityWord, quality, qualityWords } from './quality.ts';

/** The quality of point `index` now, for display. */
export function qualityWord(snapshot: Snapshot, index: number, maxAgeMs: number): QualityWord {
  const code = snapshot.quality[index];
  if (!isQualityCode(code)) throw new Error(`point index ${index} outside the snapshot`);
  if (code !== quality.good && code !== quality.uncertain) return qualityWords[code];
  if (!Number.isFinite(snapshot.values[index])) return 'bad';
  return usable(snapshot, index, maxAgeMs) ? qualityWords[code] : 'stale';
}

export interface Snapshot {
  readonly values: Float64Array;
  readonly quality: Uint8Array;
  /** Monotonic milliseconds at which each value was read from its source. */
  readonly observedMs: Float64Array;
  /** Device-layer generation under which the snapshot was taken. */
  generation: number;
  /** Both clocks at the start of the cycle. */
  monotonicMs: number;
  wallMs: number;
}

export function createSnapshot(points: number): Snapshot {
  return {
    values: new Float64Array(points).fill(Number.NaN),
    quality: new Uint8Array(points),
    observedMs: new Float64Array(points),
    generation: 0,
    monotonicMs: 0,
    wallMs: 0,
  };
}

/** True when point `index` has a finite value of usable quality that is at most `maxAgeMs` old. */
export function usable(snapshot: Snapshot, index: number, maxAgeMs: number): boolean {
  const code = snapshot.quality[index];
  const value = snapshot.values[index];
  const observedMs = snapshot.observedMs[index];
  if (value === undefined || observedMs === undefined) throw new Error(`point index ${index} outside the snapshot`);
  if (code !== quality.good && code !== quality.uncertain) return false;
  return value - value === 0 && snapshot.monotonicMs - observedMs <= maxAgeMs;
}
