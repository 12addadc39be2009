/** Waits between the connections of a channel: twice as long after each, the shortest again after a connection that lasted. */
import type { Clock } from '../base/clock.ts';
import type { DeviceLimits } from './limits.ts';

export class BackOff {
  readonly #limits;
  readonly #clock;
  readonly #shortMs;
  #waitMs: number;
  #sinceMs: number | undefined;

  /** A connection that ended within `shortMs` did not last. */
  constructor(
    limits: Pick<DeviceLimits, 'reconnect_min_ms' | 'reconnect_max_ms'>,
    clock: Clock,
    shortMs = limits.reconnect_max_ms,
  ) {
    this.#limits = limits;
    this.#clock = clock;
    this.#shortMs = shortMs;
    this.#waitMs = limits.reconnect_min_ms;
  }

  /** A connection begins. */
  began(): void {
    this.#sinceMs = this.#clock.monotonicMs();
  }

  /** True while a connection has not lasted. */
  get isShort(): boolean {
    return this.#sinceMs !== undefined && this.#clock.monotonicMs() - this.#sinceMs <= this.#shortMs;
  }

  /** The connection ended, or could not be made: milliseconds to wait before the next. */
  ended(): number {
    const { reconnect_min_ms: minMs, reconnect_max_ms: maxMs } = this.#limits;
    const waitMs = this.#sinceMs === undefined || this.isShort ? this.#waitMs : minMs;
    this.#sinceMs = undefined;
    this.#waitMs = Math.min(waitMs * 2, maxMs);
    return waitMs;
  }
}
