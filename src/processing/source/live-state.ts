/**
 * Read-only live state for the live tail [data-processing §4.7]: finite values of usable quality, with the wall time of their
 * observation. A call asks for a past label, for which newer values have arrived since: so the last sample of each interval is held
 * until the next two have ended. Nothing here can write.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { LiveTableReader } from '../../points/live-table.ts';
import { quality } from '../../site/quality.ts';
import { createSnapshot, type Snapshot } from '../../site/snapshot.ts';

export interface LiveSample {
  readonly value: number;
  readonly observedMs: number;
  readonly uncertain: boolean;
}

/** A point of the live table, and the grid of its requests. */
export interface WatchedPoint {
  readonly pointIndex: number;
  readonly cadenceMs: number;
}

export interface LiveState {
  /** The newest usable sample of a point in the interval that ends at the label, or null. */
  sample(point: WatchedPoint, labelMs: number): LiveSample | null;
}

/** Without live state every tail stays as stored. */
export const noLiveState: LiveState = { sample: () => null };

/** Intervals whose last sample is held, the present one included. */
const intervalsHeld = 3;

export class LiveTails implements LiveState {
  readonly #table: LiveTableReader;
  readonly #clock: Clock;
  readonly #snapshot: Snapshot;
  /** By point and cadence: the last sample by label, in the order of labels. */
  readonly #held: readonly (WatchedPoint & { readonly samples: Map<number, LiveSample> })[];

  constructor(table: LiveTableReader, points: number, watched: readonly WatchedPoint[], clock: Clock) {
    this.#table = table;
    this.#clock = clock;
    this.#snapshot = createSnapshot(points);
    this.#held = watched.map((point) => ({ ...point, samples: new Map() }));
  }

  /** Reads the live table every `pollMs`, if any point is watched. */
  watch(pollMs: number): Timer {
    let timer: Timer | undefined;
    const next = (): void => {
      this.look();
      timer = this.#clock.after(pollMs, next);
    };
    if (this.#held.length > 0) next();
    return { cancel: () => timer?.cancel() };
  }

  /** Takes the samples of the live table now. */
  look(): void {
    if (this.#held.length === 0 || !this.#table.copyInto(this.#snapshot, this.#clock)) return;
    for (const { pointIndex, cadenceMs, samples } of this.#held) {
      const sample = sampleIn(this.#snapshot, pointIndex);
      if (sample === null) continue;
      samples.set(Math.ceil(sample.observedMs / cadenceMs) * cadenceMs, sample);
      for (const label of samples.keys()) {
        if (samples.size <= intervalsHeld) break;
        samples.delete(label);
      }
    }
  }

  sample(point: WatchedPoint, labelMs: number): LiveSample | null {
    this.look();
    const held = this.#held.find(
      ({ pointIndex, cadenceMs }) => pointIndex === point.pointIndex && cadenceMs === point.cadenceMs,
    );
    return held?.samples.get(labelMs) ?? null;
  }
}

function sampleIn(snapshot: Snapshot, pointIndex: number): LiveSample | null {
  const code = snapshot.quality[pointIndex];
  const value = snapshot.values[pointIndex];
  const observedMs = snapshot.observedMs[pointIndex];
  if (value === undefined || observedMs === undefined || !Number.isFinite(value)) return null;
  if (code !== quality.good && code !== quality.uncertain) return null;
  const ageMs = snapshot.monotonicMs - observedMs;
  // Rounded up: a sample taken just after the cutoff must not slip before it.
  return { value, observedMs: Math.ceil(snapshot.wallMs - ageMs), uncertain: code === quality.uncertain };
}
