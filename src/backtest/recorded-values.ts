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
      const next = takeMoments(series, values, window.toMs, take);
      if (typeof next === 'boolean') return next;
      await next.load();
    }
  } finally {
    for (const each of series) await each.close();
  }
}

/**
 * Gives moments to `take`. Returns false if `take` does, true at the end, or a point whose next values must be loaded. V8 compiles a loop
 * that is entered only once from its first moments; this one is entered with each portion.
 */
function takeMoments(
  series: readonly PointValues[],
  values: SampledValue[],
  toMs: number,
  take: (atMs: number, values: readonly SampledValue[]) => boolean,
): boolean | PointValues {
  for (;;) {
    let atMs = Number.POSITIVE_INFINITY;
    for (let at = 0; at < series.length; at++) {
      const each = series[at] as PointValues;
      if (each.isUsedUp) return each;
      atMs = Math.min(atMs, each.nextMs);
    }
    if (atMs >= toMs) return true;
    let count = 0;
    for (let at = 0; at < series.length; at++) {
      const each = series[at] as PointValues;
      if (each.nextMs === atMs) values[count++] = each.take();
    }
    // To empty the list each time would cost as much as filling it.
    if (values.length > count) values.length = count;
    if (!take(atMs, values)) return false;
  }
}

class PointValues {
  readonly #portions: AsyncIterableIterator<Readings>;
  #readings: Readings = { eventMs: new Float64Array(), values: new Float64Array(), quality: new Uint8Array() };
  readonly #taken: { -readonly [K in keyof SampledValue]: SampledValue[K] };
  #at = 0;
  /** When the next value was recorded; infinity behind the last one. */
  nextMs = Number.POSITIVE_INFINITY;
  /** The next value has to be loaded. */
  isUsedUp = false;

  constructor(historian: Pick<Historian, 'readings'>, point: PointFacts, { fromMs, toMs, recordIntervalMs }: Window) {
    const { instance, point: id, point_type: kind, index, maxAgeMs } = point;
    this.#taken = { atMs: Number.NaN, index, value: Number.NaN, isUncertain: false };
    const series = { instance, point: id, ...(kind === 'action' ? { kind } : {}) };
    // A value of a virtual channel is valid until the next one, at any age.
    const sinceMs = Math.max(0, Math.floor(fromMs - recordIntervalMs - maxAgeMs));
    this.#portions = historian.readings({ series, fromMs: sinceMs, toMs });
  }

  /** The next value, in an object that the value after it is put into; goes to that one. */
  take(): SampledValue {
    const taken = this.#taken;
    const { eventMs, values, quality } = this.#readings;
    taken.atMs = this.nextMs;
    taken.value = values[this.#at] as number;
    taken.isUncertain = quality[this.#at] === recordedQuality.uncertain;
    this.#at++;
    if (this.#at < eventMs.length) this.nextMs = eventMs[this.#at] as number;
    else this.isUsedUp = true;
    return taken;
  }

  /** Reads the next portion and goes to its first value. */
  async load(): Promise<void> {
    this.isUsedUp = false;
    this.#at = 0;
    this.nextMs = Number.POSITIVE_INFINITY;
    while (this.nextMs === Number.POSITIVE_INFINITY) {
      const portion = await this.#portions.next();
      if (portion.done === true) return;
      this.#readings = portion.value;
      this.nextMs = portion.value.eventMs[0] ?? Number.POSITIVE_INFINITY;
    }
  }

  async close(): Promise<void> {
    await this.#portions.return?.();
  }
}
