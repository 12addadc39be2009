/**
 * The grid of ticks [rules §6.1]: each tick is counted from the previous one, not from the time it was noticed, so that the period
 * does not drift. A stall is one late tick; missed ticks are counted, not caught up.
 */
import type { Clock, Timer } from '../base/clock.ts';

interface TickerCounts {
  readonly ticks: number;
  readonly late_ticks: number;
  /** Ticks that were missed, or came before the cycle of the previous one had started. */
  readonly overruns: number;
  readonly max_lateness_ms: number;
}

export interface Ticker {
  start(): void;
  stop(): void;
  counts(): TickerCounts;
}

/** `onTick` receives the tick's place on the grid and its delay, and returns whether the previous tick was still waiting. */
export function createTicker(
  clock: Clock,
  limits: { readonly tick_interval_ms: number; readonly late_tick_ms: number },
  onTick: (tickMs: number, latenessMs: number) => boolean,
): Ticker {
  let timer: Timer | undefined;
  let nextMs = 0;
  const madeMs = clock.monotonicMs();
  const counts = { ticks: 0, late_ticks: 0, overruns: 0, max_lateness_ms: 0 };

  const arm = (): void => {
    timer = clock.after(Math.max(0, nextMs - clock.monotonicMs()), tick);
  };
  const tick = (): void => {
    // Negative only by rounding. A run that ended before its tick would end its cooldown one tick early.
    const latenessMs = Math.max(0, clock.monotonicMs() - nextMs);
    const swallowed = Math.floor(latenessMs / limits.tick_interval_ms);
    const tickMs = nextMs + limits.tick_interval_ms * swallowed;
    counts.ticks++;
    counts.max_lateness_ms = Math.max(counts.max_lateness_ms, latenessMs);
    if (latenessMs > limits.late_tick_ms) counts.late_ticks++;
    nextMs = tickMs + limits.tick_interval_ms;
    arm();
    const beforeWaits = onTick(tickMs, latenessMs);
    counts.overruns += swallowed + (beforeWaits ? 1 : 0);
  };

  return {
    start() {
      // A process that was ready before its first tick may begin (at a takeover) starts with a tick.
      nextMs = Math.max(clock.monotonicMs(), madeMs + limits.tick_interval_ms);
      arm();
    },
    stop: () => timer?.cancel(),
    counts: () => counts,
  };
}
