/**
 * What to record, decided from one look at the live table [points §6.1]: readings that changed, at
 * intervals also those that did not, and one row without a value when a point becomes unavailable. The event time is the
 * moment at which the value was observed, as wall time; a reading is recorded once.
 */

import { quality, type RecordedQuality } from '../site/quality.ts';
import type { SitePoint } from '../site/site.ts';
import { type Snapshot, usable } from '../site/snapshot.ts';
import type { HistoryRow } from './historian.ts';

export type RecordedPoint = Pick<SitePoint, 'index' | 'instance' | 'id' | 'maxAgeMs'>;

/** What was recorded last of one point. */
interface Recorded {
  observedMs: number;
  value: number;
  quality: RecordedQuality;
  available: boolean;
}

export interface Observer {
  /** The rows of one look; with `all`, unchanged readings that are newer than the last recorded ones too. */
  look(snapshot: Snapshot, all: boolean): HistoryRow[];
}

/** Measurement points of the site that are to be recorded. */
export function recordedPoints(points: readonly SitePoint[]): RecordedPoint[] {
  return points
    .filter((point) => point.record && point.kind === 'measurement')
    .map(({ index, instance, id, maxAgeMs }) => ({ index, instance, id, maxAgeMs }));
}

export function createObserver(points: readonly RecordedPoint[]): Observer {
  const states = points.map((point) => ({
    point,
    last: {
      observedMs: Number.NEGATIVE_INFINITY,
      value: Number.NaN,
      quality: quality.missing,
      available: false,
    } as Recorded,
  }));
  let generation: number | undefined;
  return {
    look(snapshot, all) {
      const restarted = generation !== undefined && generation !== snapshot.generation;
      generation = snapshot.generation;
      return states.flatMap(({ point, last }) => {
        const row = usable(snapshot, point.index, point.maxAgeMs)
          ? reading(point, last, snapshot, all)
          : loss(point, last, snapshot, restarted);
        return row === null ? [] : [row];
      });
    },
  };
}

function reading(point: RecordedPoint, last: Recorded, snapshot: Snapshot, all: boolean): HistoryRow | null {
  const observedMs = snapshot.observedMs[point.index] ?? Number.NaN;
  const value = snapshot.values[point.index] ?? Number.NaN;
  const code = snapshot.quality[point.index] === quality.uncertain ? quality.uncertain : quality.good;
  if (!(observedMs > last.observedMs)) return null;
  if (!all && last.available && value === last.value && code === last.quality) return null;
  Object.assign(last, { observedMs, value, quality: code, available: true } satisfies Recorded);
  return rowOf(point, snapshot, observedMs, value, code);
}

/** Null unless the point was available when it was last recorded: its loss is one row. */
function loss(point: RecordedPoint, last: Recorded, snapshot: Snapshot, restarted: boolean): HistoryRow | null {
  if (!last.available) return null;
  const observedMs = snapshot.observedMs[point.index] ?? Number.NaN;
  const published = snapshot.quality[point.index];
  const aged = published === quality.good || published === quality.uncertain;
  // A reading that is not usable says when; one that grew too old became so at that age; a device layer that went away
  // took its values with it, and the times beside them are those of readings that were good.
  const sinceMs = aged ? observedMs + point.maxAgeMs : observedMs;
  const known = !restarted && sinceMs > last.observedMs && sinceMs <= snapshot.monotonicMs;
  const atMs = known ? sinceMs : snapshot.monotonicMs;
  const code = aged || published === quality.missing ? quality.missing : quality.bad;
  Object.assign(last, { observedMs: atMs, value: Number.NaN, quality: code, available: false } satisfies Recorded);
  return rowOf(point, snapshot, atMs, null, code);
}

function rowOf(
  point: RecordedPoint,
  snapshot: Snapshot,
  atMonotonicMs: number,
  value: number | null,
  code: RecordedQuality,
): HistoryRow {
  return {
    series: { instance: point.instance, point: point.id },
    eventMs: Math.floor(snapshot.wallMs - (snapshot.monotonicMs - atMonotonicMs)),
    ingestedMs: snapshot.wallMs,
    value,
    quality: code,
  };
}
