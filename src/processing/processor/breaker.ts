/**
 * A processor's circuit breaker [processor §6.2]: consecutive transport failures open it, and after a while one call may
 * try again. Implemented here because it uses the house's clock and refuses at once while a trial runs.
 */
import type { Clock } from '../../base/clock.ts';
import { processorLimits } from './limits.ts';

export type Admission = { readonly admitted: true } | { readonly admitted: false; readonly retryAfterMs: number };

export class Breaker {
  readonly #clock: Clock;
  #failures = 0;
  /** Monotonic milliseconds of the last opening; null while closed. */
  #openedAtMs: number | null = null;
  #trial = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True while calls are refused without contacting the processor. */
  get open(): boolean {
    return this.#openedAtMs !== null && this.#remainingMs() > 0;
  }

  /** An admitted caller reports success, failure or abandonment. */
  admit(): Admission {
    if (this.#openedAtMs === null) return { admitted: true };
    const retryAfterMs = this.#remainingMs();
    if (retryAfterMs > 0 || this.#trial) return { admitted: false, retryAfterMs };
    this.#trial = true;
    return { admitted: true };
  }

  success(): void {
    this.#failures = 0;
    this.#openedAtMs = null;
    this.#trial = false;
  }

  failure(): void {
    this.#failures++;
    const failedTrial = this.#trial;
    this.#trial = false;
    if (failedTrial || (this.#openedAtMs === null && this.#failures >= processorLimits.breakerFailures))
      this.#openedAtMs = this.#clock.monotonicMs();
  }

  /** A call that ended for its own reasons does not count. */
  abandon(): void {
    this.#trial = false;
  }

  #remainingMs(): number {
    if (this.#openedAtMs === null) return 0;
    return Math.max(0, this.#openedAtMs + processorLimits.breakerOpenMs - this.#clock.monotonicMs());
  }
}
