/** How much of a window a point's recorded values cover, and how often they leave a gap [rules §10.1]. */
import type { SiteCatalogue } from '../../site/catalogue.ts';

/** A point as answers name it, such as `4:M:1`. */
export function pointName({ points }: SiteCatalogue, index: number): string {
  const point = points[index];
  return `${point?.instance ?? 0}:${point?.point_type === 'action' ? 'A' : 'M'}:${point?.point ?? 0}`;
}

export interface Coverage {
  /** Share of the window in which the value was usable. */
  readonly ratio: number;
  readonly gaps: number;
}

export class PointCoverage {
  readonly #fromMs: number;
  readonly #toMs: number;
  /** How long a value is valid without another one. */
  readonly #standsMs: number;
  #coveredMs = 0;
  #gaps = 0;
  /** Up to here the window is covered, or known not to be. */
  #knownMs: number;
  /** How long the last value is valid; minus infinity where it was not usable. */
  #validUntilMs = Number.NEGATIVE_INFINITY;

  constructor(fromMs: number, toMs: number, standsMs: number) {
    this.#fromMs = fromMs;
    this.#toMs = toMs;
    this.#standsMs = standsMs;
    this.#knownMs = fromMs;
  }

  take(atMs: number, isUsable: boolean): void {
    this.#until(atMs);
    this.#validUntilMs = isUsable ? atMs + this.#standsMs : Number.NEGATIVE_INFINITY;
  }

  end(): Coverage {
    this.#until(this.#toMs);
    const widthMs = this.#toMs - this.#fromMs;
    return { ratio: widthMs <= 0 ? 0 : this.#coveredMs / widthMs, gaps: this.#gaps };
  }

  #until(atMs: number): void {
    const endMs = Math.min(atMs, this.#toMs);
    if (endMs <= this.#knownMs) return;
    const coveredMs = Math.max(0, Math.min(this.#validUntilMs, endMs) - this.#knownMs);
    this.#coveredMs += coveredMs;
    if (coveredMs < endMs - this.#knownMs) this.#gaps++;
    this.#knownMs = endMs;
  }
}
