/** The recorded values of several points as one series of moments, in order of time. */
import type { Historian, Readings } from '../historian/historian.ts';
import type { SampledValue } from '../rules/backtest/simulation.ts';
import type { PointFacts } from '../site/catalogue.ts';
import { recordedQuality } from '../site/quality.ts';

interface Window {
  readonly fromMs: number;
  readonly toMs: number;
  readonly recordIntervalMs: number;
}

interface Moment {
  readonly atMs: number;
  readonly values: readonly SampledValue[];
}

/** Moments that are handed over at a time. */
const momentsPerPortion = 1000;

/** Values in [from, to), after those that may still stand at its begin. */
export async function* momentsOf(
  historian: Pick<Historian, 'readings'>,
  points: readonly PointFacts[],
  window: Window,
): AsyncGenerator<readonly Moment[]> {
  const series = points.map((point) => new PointValues(historian, point, window));
  try {
    for (const each of series) await each.load();
    let moments: Moment[] = [];
    for (;;) {
      let atMs = Number.POSITIVE_INFINITY;
      for (const { next } of series) if (next !== null && next.atMs < atMs) ({ atMs } = next);
      if (atMs >= window.toMs) break;
      const values: SampledValue[] = [];
      for (const each of series) {
        if (each.next?.atMs !== atMs) continue;
        values.push(each.next);
        if (!each.step()) await each.load();
      }
      moments.push({ atMs, values });
      if (moments.length < momentsPerPortion) continue;
      yield moments;
      moments = [];
    }
    if (moments.length > 0) yield moments;
  } finally {
    for (const each of series) await each.close();
  }
}

class PointValues {
  readonly #portions: AsyncIterableIterator<Readings>;
  readonly #index: number;
  #readings: Readings = { eventMs: new Float64Array(), values: new Float64Array(), quality: new Uint8Array() };
  #at = 0;
  next: SampledValue | null = null;

  constructor(historian: Pick<Historian, 'readings'>, point: PointFacts, { fromMs, toMs, recordIntervalMs }: Window) {
    const { instance, point: id, point_type: kind, index, maxAgeMs } = point;
    this.#index = index;
    const series = { instance, point: id, ...(kind === 'action' ? { kind } : {}) };
    // A value of a virtual channel is valid until the next one, at any age.
    const sinceMs = Math.max(0, Math.floor(fromMs - recordIntervalMs - maxAgeMs));
    this.#portions = historian.readings({ series, fromMs: sinceMs, toMs });
  }

  /** Goes to the next value; false when it is not there yet. */
  step(): boolean {
    const at = ++this.#at;
    const { eventMs, values, quality } = this.#readings;
    if (at >= eventMs.length) return false;
    this.next = {
      atMs: eventMs[at] ?? Number.NaN,
      index: this.#index,
      value: values[at] ?? Number.NaN,
      isUncertain: quality[at] === recordedQuality.uncertain,
    };
    return true;
  }

  /** Reads the next portion and goes to its first value; `next` is null at the end. */
  async load(): Promise<void> {
    do {
      const portion = await this.#portions.next();
      if (portion.done === true) {
        this.next = null;
        return;
      }
      this.#readings = portion.value;
      this.#at = -1;
    } while (!this.step());
  }

  async close(): Promise<void> {
    await this.#portions.return?.();
  }
}
