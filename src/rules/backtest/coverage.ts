/** Coverage of a window by the recorded values of points, and the number of gaps [rules §10.1]. */
import type { SiteCatalogue } from '../../site/catalogue.ts';
import type { SampledValue } from './simulation.ts';

/** A point in the form `4:M:1`. */
export function pointName({ points }: SiteCatalogue, index: number): string {
  const point = points[index];
  return `${point?.instance ?? 0}:${point?.point_type === 'action' ? 'A' : 'M'}:${point?.point ?? 0}`;
}

export interface Coverage {
  /** Share of the window in which the value was usable. */
  readonly ratio: number;
  readonly gaps: number;
}

/** Coverage of all points, in columns by point, because a window contains millions of values. */
export class PointCoverage {
  readonly #fromMs: number;
  readonly #toMs: number;
  /** By point: validity of a value without a successor. */
  readonly #standsMs: Float64Array;
  readonly #coveredMs: Float64Array;
  readonly #gaps: Uint32Array;
  /** Coverage is known up to here. */
  readonly #knownMs: Float64Array;
  /** End of validity of the last value; minus infinity if it was not usable. */
  readonly #validUntilMs: Float64Array;

  /** `standsMs`: by point index. */
  constructor(fromMs: number, toMs: number, standsMs: readonly number[]) {
    this.#fromMs = fromMs;
    this.#toMs = toMs;
    this.#standsMs = Float64Array.from(standsMs);
    this.#coveredMs = new Float64Array(standsMs.length);
    this.#gaps = new Uint32Array(standsMs.length);
    this.#knownMs = new Float64Array(standsMs.length).fill(fromMs);
    this.#validUntilMs = new Float64Array(standsMs.length).fill(Number.NEGATIVE_INFINITY);
  }

  take(atMs: number, values: readonly SampledValue[]): void {
    for (let at = 0; at < values.length; at++) {
      const { index, value } = values[at] as SampledValue;
      this.#until(index, atMs);
      const isUsable = value - value === 0;
      this.#validUntilMs[index] = isUsable ? atMs + (this.#standsMs[index] as number) : Number.NEGATIVE_INFINITY;
    }
  }

  end(index: number): Coverage {
    this.#until(index, this.#toMs);
    const widthMs = this.#toMs - this.#fromMs;
    return { ratio: widthMs <= 0 ? 0 : (this.#coveredMs[index] ?? 0) / widthMs, gaps: this.#gaps[index] ?? 0 };
  }

  #until(index: number, atMs: number): void {
    const endMs = Math.min(atMs, this.#toMs);
    const knownMs = this.#knownMs[index] as number;
    if (endMs <= knownMs) return;
    const coveredMs = Math.max(0, Math.min(this.#validUntilMs[index] as number, endMs) - knownMs);
    this.#coveredMs[index] = (this.#coveredMs[index] as number) + coveredMs;
    if (coveredMs < endMs - knownMs) this.#gaps[index] = (this.#gaps[index] as number) + 1;
    this.#knownMs[index] = endMs;
  }
}
