/**
 * One channel's driver, kept apart from those of all others [points §3]: a driver that fails of an error which it did not
 * catch is left behind and another one is started in its place, after a pause that grows while it keeps failing.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Driver } from './driver.ts';
import type { DeviceLimits } from './limits.ts';

/** The place of one driver. Once it has left, nothing that it still does reaches the tables. */
export interface Seat {
  left: boolean;
}

export interface ChannelParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<DeviceLimits, 'reconnect_min_ms' | 'reconnect_max_ms'>;
  /** Runs the driver's work so that an error in a later callback is known to be of this channel. */
  readonly isolated: (work: () => void) => void;
  readonly start: (seat: Seat) => Driver;
  /** No driver runs: nothing is known of the channel's points, and nothing can be commanded. */
  readonly lost: () => void;
}

export interface RunningChannel {
  start(): void;
  wake(): void;
  failed(error: unknown): void;
  stop(): Promise<void>;
}

export function runChannel({ clock, log, limits, isolated, start, lost }: ChannelParts): RunningChannel {
  let current: { readonly driver: Driver; readonly seat: Seat; readonly sinceMs: number } | undefined;
  let timer: Timer | undefined;
  let pauseMs = limits.reconnect_min_ms;
  let stopped = false;

  const guarded = (work: () => void): void => {
    isolated(() => {
      try {
        work();
      } catch (error) {
        failed(error);
      }
    });
  };
  const begin = (): void =>
    guarded(() => {
      const seat = { left: false };
      const driver = start(seat);
      current = { driver, seat, sinceMs: clock.monotonicMs() };
      driver.start();
    });
  const failed = (error: unknown): void => {
    log.error('driver failed; restarting its channel', {
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    const old = current;
    current = undefined;
    if (old !== undefined) {
      old.seat.left = true;
      // Release its sockets. The channel has already failed, so a second error while stopping is ignored.
      isolated(() => void Promise.try(() => old.driver.stop()).catch(() => undefined));
      // A long uptime means the start was fine: reset the backoff.
      if (clock.monotonicMs() - old.sinceMs > limits.reconnect_max_ms) pauseMs = limits.reconnect_min_ms;
    }
    lost();
    timer?.cancel();
    if (!stopped) timer = clock.after(pauseMs, begin);
    pauseMs = Math.min(pauseMs * 2, limits.reconnect_max_ms);
  };

  return {
    start: begin,
    wake: () => guarded(() => current?.driver.wake()),
    failed,
    async stop() {
      stopped = true;
      timer?.cancel();
      await current?.driver.stop();
    },
  };
}
