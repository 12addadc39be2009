/** A clock that tests control: time passes only in `advance`, and wall time may jump relative to monotonic time. */
import { type Clock, checkDelay, systemClock } from '../base/clock.ts';

export interface SimulatedClock extends Clock {
  /** Lets `ms` pass, and runs the timers that fall due, in order, each at its own time. */
  advance(ms: number): void;
  /** Sets the wall clock forward or back without any time passing. */
  jumpWall(ms: number): void;
  /** Timers that have neither run nor been cancelled. */
  pendingCount(): number;
}

interface Pending {
  readonly dueMs: number;
  readonly order: number;
  readonly task: () => void;
}

export function simulatedClock(wallStartMs = 1_700_000_000_000, monotonicStartMs = 1000): SimulatedClock {
  let monotonic = monotonicStartMs;
  let wall = wallStartMs;
  let order = 0;
  const pending = new Set<Pending>();

  const add = (dueMs: number, task: () => void): Pending => {
    const entry = { dueMs, order: order++, task };
    pending.add(entry);
    return entry;
  };
  const nextUntil = (limitMs: number): Pending | undefined => {
    let next: Pending | undefined;
    for (const entry of pending) {
      if (entry.dueMs > limitMs) continue;
      if (next === undefined || entry.dueMs < next.dueMs || (entry.dueMs === next.dueMs && entry.order < next.order))
        next = entry;
    }
    return next;
  };
  const moveTo = (toMs: number): void => {
    wall += toMs - monotonic;
    monotonic = toMs;
  };

  return {
    wallMs: () => Math.floor(wall),
    monotonicMs: () => monotonic,
    after(delayMs, task) {
      checkDelay(delayMs);
      const entry = add(monotonic + Math.max(0, delayMs), task);
      return { cancel: () => void pending.delete(entry) };
    },
    soon(task) {
      add(monotonic, task);
    },
    // Waiting for other threads takes real time; simulated time stops meanwhile.
    onChange: systemClock.onChange,
    advance(ms) {
      const endMs = monotonic + ms;
      for (let next = nextUntil(endMs); next !== undefined; next = nextUntil(endMs)) {
        pending.delete(next);
        moveTo(Math.max(monotonic, next.dueMs));
        next.task();
      }
      moveTo(endMs);
    },
    jumpWall(ms) {
      wall += ms;
    },
    pendingCount: () => pending.size,
  };
}

/** Runs what is due now, turn after turn, until `work` is done: for work that waits for a server as well as for this clock. */
export async function turnUntil<T>(clock: SimulatedClock, work: Promise<T>): Promise<T> {
  const turning = { done: false };
  const end = (): void => void (turning.done = true);
  void work.then(end, end);
  while (!turning.done) {
    await new Promise<void>((resolve) => systemClock.soon(resolve));
    clock.advance(0);
  }
  return work;
}
