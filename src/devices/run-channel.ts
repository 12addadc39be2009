/**
 * One channel's driver, isolated from all others [points §3]: after an uncaught error, a driver
 * is abandoned and replaced after a backoff.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { BackOff } from './back-off.ts';
import type { Driver, ScanAnswer, ScanQuestion } from './driver.ts';
import type { DeviceLimits } from './limits.ts';

/** The slot of one driver. After it has been released, the driver can no longer access the tables. */
export interface Seat {
  left: boolean;
}

export interface ChannelParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<DeviceLimits, 'reconnect_min_ms' | 'reconnect_max_ms'>;
  /** Runs the driver's work so that an error in a later callback is attributed to this channel. */
  readonly isolated: (work: () => void) => void;
  readonly start: (seat: Seat) => Driver;
  /** No driver runs: the channel's points have no values, and reject commands. */
  readonly lost: () => void;
}

export interface RunningChannel {
  start(): void;
  wake(): void;
  failed(error: unknown): void;
  /** Undefined if its driver cannot scan, null if it cannot scan now. */
  scan(question: ScanQuestion): Promise<ScanAnswer | null | undefined>;
  stop(): Promise<void>;
}

export function runChannel(parts: ChannelParts): RunningChannel {
  return new RestartedChannel(parts);
}

class RestartedChannel implements RunningChannel {
  readonly #isolated;
  readonly #start;
  readonly #clock;
  readonly #log;
  readonly #lost;
  #current: { readonly driver: Driver; readonly seat: Seat } | undefined;
  #timer: Timer | undefined;
  readonly #backOff;
  #stopped = false;

  constructor({ clock, log, limits, isolated, start, lost }: ChannelParts) {
    this.#isolated = isolated;
    this.#start = start;
    this.#clock = clock;
    this.#log = log;
    this.#lost = lost;
    this.#backOff = new BackOff(limits, clock);
  }

  start(): void {
    return this.#begin();
  }

  wake(): void {
    return this.#guarded(() => this.#current?.driver.wake());
  }

  async scan(question: ScanQuestion): Promise<ScanAnswer | null | undefined> {
    const driver = this.#current?.driver;
    return driver === undefined ? null : driver.scan?.(question);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#current?.driver.stop();
  }

  #guarded(work: () => void): void {
    this.#isolated(() => {
      try {
        work();
      } catch (error) {
        this.failed(error);
      }
    });
  }

  readonly #begin = (): void =>
    this.#guarded(() => {
      const seat = { left: false };
      const driver = this.#start(seat);
      this.#current = { driver, seat };
      this.#backOff.began();
      driver.start();
    });

  readonly failed = (error: unknown): void => {
    this.#log.error('driver failed; restarting its channel', {
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    const old = this.#current;
    this.#current = undefined;
    if (old !== undefined) {
      old.seat.left = true;
      // Release its sockets. The channel has already failed, so a second error while stopping is ignored.
      this.#isolated(() => void Promise.try(() => old.driver.stop()).catch(() => undefined));
    }
    this.#lost();
    this.#timer?.cancel();
    const waitMs = this.#backOff.ended();
    if (!this.#stopped) this.#timer = this.#clock.after(waitMs, this.#begin);
  };
}
