/**
 * The live table and its ring of changes. One writer: the device layer. Readers copy the whole table under a sequence
 * lock, so that all inputs of one execution come from one moment [rules §7.1].
 */
import type { Clock } from '../base/clock.ts';
import { ring } from '../base/doorbell.ts';
import { type QualityCode, quality } from '../site/quality.ts';
import type { Snapshot } from '../site/snapshot.ts';
import {
  betweenLooks,
  doorbells,
  header,
  looksMax,
  type PointMemory,
  type RunMemory,
  ringSize,
  type Wait,
} from './shared-memory.ts';

interface Reading {
  readonly index: number;
  /** In the point's unit; ignored unless the quality is usable. */
  readonly value: number;
  readonly quality: QualityCode;
}

export interface LiveTableWriter {
  /** Writes readings taken at one moment, and announces those that changed. */
  publish(readings: readonly Reading[]): void;
}

/** `maxAgesMs` by point index: a reading that follows one older than that ends a gap and is announced even if equal. */
export function createLiveTableWriter(
  memory: PointMemory,
  clock: Clock,
  maxAgesMs: readonly number[],
): LiveTableWriter {
  return {
    publish(given) {
      if (given.length === 0) return;
      const readings = given.map(checked);
      const nowMs = clock.monotonicMs();
      const changed = readings.filter((reading) => differs(memory, reading, nowMs, maxAgesMs[reading.index] ?? 0));
      Atomics.add(memory.header, header.sequence, 1);
      for (const reading of readings) {
        if (isUsable(reading)) observe(memory, reading, nowMs, maxAgesMs[reading.index] ?? 0);
        memory.values[reading.index] = isUsable(reading) ? reading.value : Number.NaN;
        memory.quality[reading.index] = reading.quality;
        memory.observedMs[reading.index] = nowMs;
      }
      Atomics.add(memory.header, header.sequence, 1);
      for (const reading of changed) announce(memory, reading);
      if (changed.length > 0) ring(memory.doorbells, doorbells.changes);
    },
  };
}

/** Counts the observation, before it is written: beside the one that it follows it shows whether it begins a run. */
function observe(
  { values, quality: codes, observedMs, runs }: PointMemory,
  reading: Reading,
  nowMs: number,
  maxAgeMs: number,
): void {
  const { index, value } = reading;
  const beforeMs = observedMs[index] ?? Number.NaN;
  const follows = Number.isFinite(values[index]) && nowMs - beforeMs <= maxAgeMs;
  const count = (runs.observations[index] ?? 0) + 1;
  runs.observations[index] = count;
  runs.lastMs[index] = nowMs;
  if (follows && values[index] === value && codes[index] === reading.quality) return;
  runs.runs[index] = (runs.runs[index] ?? 0) + 1;
  runs.first[index] = count;
  runs.beforeMs[index] = follows ? beforeMs : Number.NaN;
}

function isUsable(reading: Reading): boolean {
  return reading.quality === quality.good || reading.quality === quality.uncertain;
}

/** A value that is not finite is never of good quality, whatever its source says. */
function checked(reading: Reading): Reading {
  return isUsable(reading) && !Number.isFinite(reading.value) ? { ...reading, quality: quality.bad } : reading;
}

function differs(memory: PointMemory, reading: Reading, nowMs: number, maxAgeMs: number): boolean {
  if (memory.quality[reading.index] !== reading.quality) return true;
  if (isUsable(reading) && memory.values[reading.index] !== reading.value) return true;
  return nowMs - (memory.observedMs[reading.index] ?? 0) > maxAgeMs;
}

function announce(memory: PointMemory, reading: Reading): void {
  const head = Atomics.load(memory.header, header.ringHead);
  // Both count on past the largest Int32; their difference stays right.
  if (((head - Atomics.load(memory.header, header.ringTail)) | 0) >= ringSize) {
    Atomics.store(memory.header, header.ringLost, 1);
    return;
  }
  const place = head & (ringSize - 1);
  memory.ringIndex[place] = reading.index;
  memory.ringUsable[place] = isUsable(reading) ? 1 : 0;
  memory.ringValue[place] = reading.value;
  Atomics.store(memory.header, header.ringHead, head + 1);
}

/** A copy of `RunMemory`. */
export type Runs = { readonly [Name in keyof RunMemory]: Float64Array };

export function createRuns(points: number): Runs {
  const column = (): Float64Array => new Float64Array(points);
  return { observations: column(), runs: column(), first: column(), beforeMs: column(), lastMs: column() };
}

export interface LiveTableReader {
  /**
   * Refills the snapshot with one moment's values. Waits while a batch is being written, some 20 ms at the most; false when the writer
   * kept writing, or was suspended or ended within a batch (try again later).
   */
  copyInto(snapshot: Snapshot, clock: Clock, runs?: Runs): boolean;
}

export function createLiveTableReader(memory: PointMemory, wait?: Wait): LiveTableReader {
  return {
    copyInto(snapshot, clock, runs) {
      for (let look = 0; look < looksMax; look++) {
        const before = Atomics.load(memory.header, header.sequence);
        if ((before & 1) === 1) {
          betweenLooks(look, memory.header, header.sequence, before, wait);
          continue;
        }
        const generation = Atomics.load(memory.header, header.generation);
        snapshot.values.set(memory.values.subarray(0, snapshot.values.length));
        snapshot.quality.set(memory.quality.subarray(0, snapshot.quality.length));
        snapshot.observedMs.set(memory.observedMs.subarray(0, snapshot.observedMs.length));
        if (runs !== undefined) copyRuns(memory.runs, runs);
        // A read that also writes: the copy above cannot be moved behind it, on no processor.
        if (Atomics.or(memory.header, header.sequence, 0) !== before) continue;
        snapshot.generation = generation;
        snapshot.monotonicMs = clock.monotonicMs();
        snapshot.wallMs = clock.wallMs();
        return true;
      }
      return false;
    },
  };
}

function copyRuns(from: RunMemory, into: Runs): void {
  for (const name of ['observations', 'runs', 'first', 'beforeMs', 'lastMs'] as const)
    into[name].set(from[name].subarray(0, into[name].length));
}

export interface ChangeReader {
  /** Hands over the changes since the last call; true when some were lost and all points must be sampled. */
  drain(take: (pointIndex: number, value: number, usable: boolean) => void): boolean;
}

/** One reader only: it moves the ring's tail. */
export function createChangeReader(memory: PointMemory): ChangeReader {
  return {
    drain(take) {
      const lost = Atomics.exchange(memory.header, header.ringLost, 0) === 1;
      const head = Atomics.load(memory.header, header.ringHead);
      let tail = Atomics.load(memory.header, header.ringTail);
      for (; tail !== head; tail = (tail + 1) | 0) {
        const place = tail & (ringSize - 1);
        take(memory.ringIndex[place] ?? 0, memory.ringValue[place] ?? Number.NaN, memory.ringUsable[place] === 1);
      }
      Atomics.store(memory.header, header.ringTail, tail);
      return lost;
    },
  };
}
