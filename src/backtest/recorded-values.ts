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

/**
 * Gives the values of each moment in [from, to) to `take`, after those that may still stand at its begin; ends where `take` answers
 * false, and answers whether it came to the end. The list and its entries are filled again for the next moment.
 */
export async function eachMoment(
  historian: Pick<Historian, 'readings'>,
  points: readonly PointFacts[],
  window: Window,
  take: (atMs: number, values: readonly SampledValue[]) => boolean,
): Promise<boolean> {
  const series = points.map((point) => new PointValues(historian, point, window));
  try {
    for (const each of series) await each.load();
    const values: SampledValue[] = [];
    for (;;) {
      let atMs = Number.POSITIVE_INFINITY;
      for (let at = 0; at < series.length; at++) atMs = Math.min(atMs, (series[at] as PointValues).nextMs);
      if (atMs >= window.toMs) return true;
      let count = 0;
      for (let at = 0; at < series.length; at++) {
        const each = series[at] as PointValues;
        if (each.nextMs !== atMs) continue;
        values[count++] = each.take();
        if (!each.step()) await each.load();
      }
      // To empty the list each time would cost as much as filling it.
      if (values.length > count) values.length = count;
      if (!take(atMs, values)) return false;
    }
  } finally {
    for (const each of series) await each.close();
  }
}

class PointValues {
  readonly #portions: AsyncIterableIterator<Readings>;
  #readings: Readings = { eventMs: new Float64Array(), values: new Float64Array(), quality: new Uint8Array() };
  readonly #taken: { -readonly [K in keyof SampledValue]: SampledValue[K] };
  #at = 0;
  /** When the next value was recorded; infinity behind the last one. */
  nextMs = Number.POSITIVE_INFINITY;

  constructor(historian: Pick<Historian, 'readings'>, point: PointFacts, { fromMs, toMs, recordIntervalMs }: Window) {
    const { instance, point: id, point_type: kind, index, maxAgeMs } = point;
    this.#taken = { atMs: Number.NaN, index, value: Number.NaN, isUncertain: false };
    const series = { instance, point: id, ...(kind === 'action' ? { kind } : {}) };
    // A value of a virtual channel is valid until the next one, at any age.
    const sinceMs = Math.max(0, Math.floor(fromMs - recordIntervalMs - maxAgeMs));
    this.#portions = historian.readings({ series, fromMs: sinceMs, toMs });
  }

  /** The next value, in an object that the value after it is put into. */
  take(): SampledValue {
    const taken = this.#taken;
    taken.atMs = this.nextMs;
    taken.value = this.#readings.values[this.#at] ?? Number.NaN;
    taken.isUncertain = this.#readings.quality[this.#at] === recordedQuality.uncertain;
    return taken;
  }

  /** Goes to the one after it; false when it is not there yet. */
  step(): boolean {
    const { eventMs } = this.#readings;
    if (++this.#at >= eventMs.length) return false;
    this.nextMs = eventMs[this.#at] ?? Number.NaN;
    return true;
  }

  /** Reads the next portion and goes to its first value. */
  async load(): Promise<void> {
    do {
      const portion = await this.#portions.next();
      if (portion.done === true) {
        this.nextMs = Number.POSITIVE_INFINITY;
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
