/** The quality of a value [points §2]: codes in memory, words in the API. */

/**
 * Quality codes of the live table. Only `good` and `uncertain` are usable. A reading is `invalid` when its raw value is
 * listed as "not available", and `outOfRange` when it lies outside `min..max` of its point [points §2].
 */
export const quality = { missing: 0, good: 1, uncertain: 2, bad: 3, invalid: 4, outOfRange: 5 } as const;
export type QualityCode = (typeof quality)[keyof typeof quality];

/** The qualities of a recorded sample: the reason for an unusable reading is in the live table only. */
export const recordedQuality = {
  missing: quality.missing,
  good: quality.good,
  uncertain: quality.uncertain,
  bad: quality.bad,
} as const;
export type RecordedQuality = (typeof recordedQuality)[keyof typeof recordedQuality];

/** A quality in the words of the API; `stale` is a usable reading that has become too old. */
export type QualityWord = 'missing' | 'good' | 'uncertain' | 'bad' | 'invalid' | 'out-of-range' | 'stale';

export const qualityWords: Readonly<Record<QualityCode, QualityWord>> = {
  [quality.missing]: 'missing',
  [quality.good]: 'good',
  [quality.uncertain]: 'uncertain',
  [quality.bad]: 'bad',
  [quality.invalid]: 'invalid',
  [quality.outOfRange]: 'out-of-range',
};

export function isQualityCode(code: number | undefined): code is QualityCode {
  return code !== undefined && Object.hasOwn(qualityWords, code);
}
