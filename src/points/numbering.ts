/**
 * How a process numbers the points and channels of its site. Two machines with different site files, or of which one was started and the
 * other one reloaded, number them differently: a sample of one is renumbered before the other one reads it.
 */
import { createHash } from 'node:crypto';
import { quality } from '../site/quality.ts';
import type { Site } from '../site/site.ts';
import type { TableSample } from './sample.ts';

export interface Numbering {
  /** `instance:kind:id`, by point index. */
  readonly points: readonly string[];
  /** Ids, by position. */
  readonly channels: readonly string[];
  /** Equal for equal numberings. */
  readonly digest: string;
}

/** A sample, and its numbering where it differs from the one that the reader knows. */
export interface NumberedSample {
  readonly sample: TableSample | null;
  readonly numbering: Numbering | null;
}

export function numberingOf(site: Pick<Site, 'points' | 'channels'>): Numbering {
  const points = site.points.map(({ instance, kind, id }) => `${instance}:${kind}:${id}`);
  const channels = site.channels.map(({ id }) => id);
  return {
    points,
    channels,
    digest: createHash('sha256')
      .update(JSON.stringify([points, channels]))
      .digest('hex'),
  };
}

/** The sample by another numbering. A point that the sample lacks is missing, and a channel offline. */
export function renumbered(sample: TableSample, from: Numbering, to: Numbering): TableSample {
  const places = new Map(from.points.map((key, index) => [key, index]));
  const indexes = to.points.map((key) => places.get(key) ?? -1);
  const online = new Map(from.channels.map((id, channel) => [id, sample.online[channel] === true]));
  return {
    atMs: sample.atMs,
    values: indexes.map((index) => sample.values[index] ?? null),
    quality: indexes.map((index) => sample.quality[index] ?? quality.missing),
    agesMs: indexes.map((index) => sample.agesMs[index] ?? null),
    online: to.channels.map((id) => online.get(id) === true),
  };
}
