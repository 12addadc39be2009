/**
 * The rows to record, computed from one read of the live table [points §6.1]: readings that changed, periodically also those that
 * did not, and one row without a value when a point becomes unavailable. The event time is the wall time of the observation. A
 * reading is recorded once, with its number of observations.
 */

import type { Runs } from '../points/live-table.ts';
import { quality, type RecordedQuality } from '../site/quality.ts';
import type { SitePoint } from '../site/site.ts';
import { type Snapshot, usable } from '../site/snapshot.ts';
import type { HistoryRow } from './historian.ts';
import { type Observations, observationsMsMax } from './observations.ts';

export type RecordedPoint = Pick<SitePoint, 'index' | 'instance' | 'id' | 'maxAgeMs'>;

/** The last recorded row of one point. */
interface Recorded {
  observedMs: number;
  value: number;
  quality: RecordedQuality;
  available: boolean;
  /** Number of the newest observation that rows represent; NaN while another process records. */
  observation: number;
  /** Number of its run. */
  run: number;
}

export interface Observer {
  /** The rows of one read; with `all`, also unchanged readings that are newer than the last recorded ones. */
  look(snapshot: Snapshot, runs: Runs, all: boolean): HistoryRow[];
  /** Another process records from here on; this one does not record observations made in the meantime. */
  pause(): void;
}

/** Measurement points of the site that are to be recorded. */
export function recordedPoints(points: readonly SitePoint[]): RecordedPoint[] {
  return points
    .filter((point) => point.record && point.kind === 'measurement')
    .map(({ index, instance, id, maxAgeMs }) => ({ index, instance, id, maxAgeMs }));
}

/**
 * The observations made before this recorder started: at the start of a service none is stored; after another recorder of the process
 * all of `runs` are stored; otherwise it is unknown.
 */
export type Earlier = 'unstored' | 'unknown' | Pick<Runs, 'observations' | 'runs' | 'lastMs'>;

export function createObserver(points: readonly RecordedPoint[], earlier: Earlier = 'unstored'): Observer {
  const states = points.map((point) => ({ point, last: firstOf(point, earlier) }));
  let generation: number | undefined;
  return {
    look(snapshot, runs, all) {
      const restarted = generation !== undefined && generation !== snapshot.generation;
      generation = snapshot.generation;
      return states.flatMap(({ point, last }) =>
        usable(snapshot, point.index, point.maxAgeMs)
          ? reading(point, last, snapshot, runs, all)
          : loss(point, last, snapshot, runs, restarted),
      );
    },
    pause() {
      for (const { last } of states) last.observation = Number.NaN;
    },
  };
}

function firstOf({ index }: RecordedPoint, earlier: Earlier): Recorded {
  const none = { value: Number.NaN, quality: quality.missing, available: false };
  const never = Number.NEGATIVE_INFINITY;
  if (earlier === 'unstored') return { ...none, observedMs: never, observation: 0, run: 0 };
  if (earlier === 'unknown') return { ...none, observedMs: never, observation: Number.NaN, run: 0 };
  const observation = earlier.observations[index] ?? 0;
  const observedMs = observation === 0 ? never : (earlier.lastMs[index] ?? never);
  return { ...none, observedMs, observation, run: earlier.runs[index] ?? 0 };
}

function reading(point: RecordedPoint, last: Recorded, snapshot: Snapshot, runs: Runs, all: boolean): HistoryRow[] {
  const at = point.index;
  const observedMs = snapshot.observedMs[at] ?? Number.NaN;
  const value = snapshot.values[at] ?? Number.NaN;
  const code = snapshot.quality[at] === quality.uncertain ? quality.uncertain : quality.good;
  if (!(observedMs > last.observedMs)) return [];
  const [count, first] = [runs.observations[at] ?? Number.NaN, runs.first[at] ?? Number.NaN];
  const run = runs.runs[at] ?? Number.NaN;
  const continues = last.available && value === last.value && code === last.quality && !(run > last.run);
  if (!all && continues) return [];
  const before = continues ? [] : closing(point, last, snapshot, endOfRun(last, runs, at), observedMs);
  // Some observations of this run are recorded already.
  const isPart = last.observation >= first;
  const sinceMs = isPart ? last.observedMs : (runs.beforeMs[at] ?? Number.NaN);
  const own = count - (isPart ? last.observation : first - 1);
  // Of a run that another process recorded, only this observation is known to be new.
  const isCounted = Number.isFinite(last.observation);
  Object.assign(last, {
    observedMs,
    value,
    quality: code,
    available: true,
    observation: count,
    run,
  } satisfies Recorded);
  const observations = isCounted ? observationsOf(own, snapshot, observedMs, sinceMs) : undefined;
  return [...before, rowOf(point, snapshot, observedMs, value, code, observations)];
}

interface Observation {
  readonly number: number;
  readonly atMs: number;
}

/** The newest observation of the last recorded value; null if other values occurred in between, unseen. */
function endOfRun(last: Recorded, runs: Runs, at: number): Observation | null {
  const [run, first] = [runs.runs[at] ?? Number.NaN, runs.first[at] ?? Number.NaN];
  if (run === last.run) return { number: runs.observations[at] ?? Number.NaN, atMs: runs.lastMs[at] ?? Number.NaN };
  return run === last.run + 1 ? { number: first - 1, atMs: runs.beforeMs[at] ?? Number.NaN } : null;
}

/** The row for observations of the last recorded value that no row represents yet. */
function closing(
  point: RecordedPoint,
  last: Recorded,
  snapshot: Snapshot,
  end: Observation | null,
  nextMs: number,
): HistoryRow[] {
  // Two rows in one millisecond would be duplicates.
  if (!last.available || end === null || !(end.atMs >= last.observedMs + 1 && end.atMs <= nextMs - 1)) return [];
  const observations = observationsOf(end.number - last.observation, snapshot, end.atMs, last.observedMs);
  return observations === undefined ? [] : [rowOf(point, snapshot, end.atMs, last.value, last.quality, observations)];
}

/** Undefined: one, at its time. */
function observationsOf(count: number, snapshot: Snapshot, atMs: number, sinceMs: number): Observations | undefined {
  const spanMs = atMs - sinceMs;
  if (!(count >= 1 && spanMs >= 1 && spanMs <= observationsMsMax)) return undefined;
  return { count, sinceMs: wallAt(snapshot, sinceMs) };
}

/** Nothing unless the point was available when it was last recorded: its loss is recorded once. */
function loss(point: RecordedPoint, last: Recorded, snapshot: Snapshot, runs: Runs, restarted: boolean): HistoryRow[] {
  if (!last.available) return [];
  const at = point.index;
  const observedMs = snapshot.observedMs[at] ?? Number.NaN;
  const published = snapshot.quality[at];
  const aged = published === quality.good || published === quality.uncertain;
  // An unusable reading has a time of its own; an expired one became unusable at its maximum age; after a failure of the device layer
  // the values are gone, and the stored times are those of readings that were good.
  const sinceMs = aged ? observedMs + point.maxAgeMs : observedMs;
  const known = !restarted && sinceMs > last.observedMs && sinceMs <= snapshot.monotonicMs;
  const atMs = known ? sinceMs : snapshot.monotonicMs;
  const code = aged || published === quality.missing ? quality.missing : quality.bad;
  const before = closing(point, last, snapshot, endOfRun(last, runs, at), atMs);
  Object.assign(last, {
    observedMs: atMs,
    value: Number.NaN,
    quality: code,
    available: false,
    observation: runs.observations[at] ?? Number.NaN,
    run: runs.runs[at] ?? Number.NaN,
  } satisfies Recorded);
  return [...before, rowOf(point, snapshot, atMs, null, code)];
}

function rowOf(
  point: RecordedPoint,
  snapshot: Snapshot,
  atMonotonicMs: number,
  value: number | null,
  code: RecordedQuality,
  observations?: Observations,
): HistoryRow {
  return {
    series: { instance: point.instance, point: point.id },
    eventMs: wallAt(snapshot, atMonotonicMs),
    ingestedMs: snapshot.wallMs,
    value,
    quality: code,
    ...(observations === undefined ? {} : { observations }),
  };
}

function wallAt({ wallMs, monotonicMs }: Snapshot, atMonotonicMs: number): number {
  return Math.floor(wallMs - (monotonicMs - atMonotonicMs));
}
