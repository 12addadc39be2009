/** The live table and the channels at one moment as plain data, for readers in any thread or process. */
import type { Clock } from '../base/clock.ts';
import { createSnapshot, type Snapshot } from '../site/snapshot.ts';
import { createLiveTableReader } from './live-table.ts';
import type { PointMemory } from './shared-memory.ts';

export interface TableSample {
  /** Wall milliseconds. */
  readonly atMs: number;
  /** By point index: value (null unless finite), quality code, age in milliseconds (null when never observed). */
  readonly values: readonly (number | null)[];
  readonly quality: readonly number[];
  readonly agesMs: readonly (number | null)[];
  /** By channel: whether commands can be taken. */
  readonly online: readonly boolean[];
}

/** Reads samples of one live table; null when no consistent copy could be had. */
export function createSampler(memory: PointMemory, points: number, channels: number, clock: Clock) {
  const reader = createLiveTableReader(memory);
  const snapshot: Snapshot = createSnapshot(points);
  return (): TableSample | null => {
    if (!reader.copyInto(snapshot, clock)) return null;
    const ages = Array.from(snapshot.observedMs, (ms) => (ms === 0 ? null : snapshot.monotonicMs - ms));
    return {
      atMs: snapshot.wallMs,
      values: Array.from(snapshot.values, (value) => (Number.isFinite(value) ? value : null)),
      quality: [...snapshot.quality],
      agesMs: ages,
      online: Array.from({ length: channels }, (_, channel) => Atomics.load(memory.online, channel) === 1),
    };
  };
}

/** The sample when nothing newer is known: every observation is older by the time since then. */
export function aged(sample: TableSample, elapsedMs: number): TableSample {
  return {
    ...sample,
    atMs: sample.atMs + elapsedMs,
    agesMs: sample.agesMs.map((ageMs) => (ageMs === null ? null : ageMs + elapsedMs)),
  };
}
