/**
 * A snapshot: the live values of all points at one moment, indexed by `PointFacts.index`. Every input of one
 * execution comes from one snapshot [rules §7.1]. Plain typed arrays: the engine refills one and the same
 * snapshot each cycle without allocating.
 */

/**
 * Quality codes of the live table. Only `good` and `uncertain` are usable. A reading is `invalid` when its raw value is
 * listed as "not available", and `outOfRange` when it lies outside `min..max` of its point [points §2].
 */
export const quality = { missing: 0, good: 1, uncertain: 2, bad: 3, invalid: 4, outOfRange: 5 } as const;
export type QualityCode = (typeof quality)[keyof typeof quality];

/** What a recorded sample can be: why a reading was not usable is for the live table to say. */
export const recordedQuality = {
  missing: quality.missing,
  good: quality.good,
  uncertain: quality.uncertain,
  bad: quality.bad,
} as const;
export type RecordedQuality = (typeof recordedQuality)[keyof typeof recordedQuality];

/** A quality in the words of the API; `stale` is a usable reading that has become too old. */
export type QualityWord = 'missing' | 'good' | 'uncertain' | 'bad' | 'invalid' | 'out-of-range' | 'stale';

const words: Readonly<Record<QualityCode, QualityWord>> = {
  [quality.missing]: 'missing',
  [quality.good]: 'good',
  [quality.uncertain]: 'uncertain',
  [quality.bad]: 'bad',
  [quality.invalid]: 'invalid',
  [quality.outOfRange]: 'out-of-range',
};

function isQualityCode(code: number | undefined): code is QualityCode {
  return code !== undefined && Object.hasOwn(words, code);
}

/** The quality of point `index` now, for readers. */
export function qualityWord(snapshot: Snapshot, index: number, maxAgeMs: number): QualityWord {
  const code = snapshot.quality[index];
  if (!isQualityCode(code)) throw new Error(`point index ${index} outside the snapshot`);
  if (code !== quality.good && code !== quality.uncertain) return words[code];
  if (!Number.isFinite(snapshot.values[index])) return 'bad';
  return usable(snapshot, index, maxAgeMs) ? words[code] : 'stale';
}

export interface Snapshot {
  readonly values: Float64Array;
  readonly quality: Uint8Array;
  /** Monotonic milliseconds at which each value was read from its source. */
  readonly observedMs: Float64Array;
  /** Device-layer generation under which the snapshot was taken. */
  generation: number;
  /** Both clocks at the moment of the cycle. */
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
