/** The value of a point as people and programs see it [points §8.1], from one sample. */
import { timeLabel } from '../base/timestamp.ts';
import { isQualityCode, type QualityWord, quality, qualityWords } from '../site/quality.ts';
import type { SitePoint } from '../site/site.ts';
import type { TableSample } from './sample.ts';

type PointQuality = QualityWord | 'offline';

/** The value of a point now: null unless its quality is good or uncertain. */
export interface PointValue {
  readonly value: number | null;
  readonly quality: PointQuality;
  /** RFC 3339 UTC; null when it was never observed. */
  readonly observed_at: string | null;
}

export function valueOf(point: SitePoint, sample: TableSample | null): PointValue {
  if (sample === null) return { value: null, quality: 'missing', observed_at: null };
  const ageMs = sample.agesMs[point.index] ?? null;
  const code = sample.quality[point.index];
  const value = sample.values[point.index] ?? null;
  if (!isQualityCode(code)) throw new Error(`point index ${point.index} outside the sample`);
  const word = wordOf(code, value, ageMs, point.maxAgeMs);
  const isUsable = word === 'good' || word === 'uncertain';
  const isOffline = !isUsable && sample.online[point.channel] !== true;
  return {
    value: isUsable ? value : null,
    quality: isOffline ? 'offline' : word,
    observed_at: ageMs === null ? null : timeLabel(sample.atMs - ageMs),
  };
}

function wordOf(
  code: keyof typeof qualityWords,
  value: number | null,
  ageMs: number | null,
  maxAgeMs: number,
): QualityWord {
  if (code !== quality.good && code !== quality.uncertain) return qualityWords[code];
  if (value === null) return 'bad';
  return ageMs !== null && ageMs <= maxAgeMs ? qualityWords[code] : 'stale';
}
