/**
 * A fixed number of threads, each with one job at a time. The same series goes to the same thread if that is free, because its
 * fit is cached there.
 */
import type { Transferable, Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { rememberedSeriesMax } from './limits.ts';
import { WorkerSlot } from './worker-slot.ts';

export interface WorkerPool<Job, Reply> {
  /** Rejects when the signal aborts, when the thread dies, and when no thread is free. */
  run(job: Job, moved: readonly Transferable[], series: string, signal: AbortSignal): Promise<Reply>;
  /** Threads that are idle or busy with a job. */
  readonly alive: number;
  close(): Promise<void>;
}

/** Resolves when every thread is up; rejects when one dies first or they take longer than `startMs`. */
export async function startWorkerPool<Job, Reply>(
  size: number,
  spawn: () => Worker,
  about: { readonly clock: Clock; readonly log: Log; readonly startMs: number },
): Promise<WorkerPool<Job, Reply>> {
  const slots = Array.from({ length: size }, () => new WorkerSlot<Job, Reply>(spawn, about.log));
  const choose = seriesKeeper(slots);
  let closed = false;
  const pool: WorkerPool<Job, Reply> = {
    get alive() {
      return slots.filter((slot) => slot.alive).length;
    },

    run(job, moved, series, signal) {
      if (closed || signal.aborted) return Promise.reject(new Error('aborted'));
      const slot = choose(series);
      return slot === null
        ? Promise.reject(new Error('every forecasting thread is busy'))
        : slot.run(job, moved, signal);
    },

    async close() {
      closed = true;
      await Promise.all(slots.map((slot) => slot.close()));
    },
  };
  const late = Promise.withResolvers<never>();
  const timer = about.clock.after(about.startMs, () => late.reject(new Error('the threads did not come up in time')));
  try {
    await Promise.race([Promise.all(slots.map((slot) => slot.started)), late.promise]);
    return pool;
  } catch (error) {
    await pool.close();
    throw error;
  } finally {
    timer.cancel();
  }
}

/** The free slot that a series used last, or else the one with the fewest series; null when none is free. */
function seriesKeeper<Slot extends { readonly free: boolean }>(
  slots: readonly Slot[],
): (series: string) => Slot | null {
  const lastOf = new Map<string, Slot>();

  function leastUsed(free: readonly Slot[]): Slot | null {
    const users = new Map<Slot, number>();
    for (const slot of lastOf.values()) users.set(slot, (users.get(slot) ?? 0) + 1);
    const usersOf = (slot: Slot): number => users.get(slot) ?? 0;
    return free.toSorted((a, b) => usersOf(a) - usersOf(b))[0] ?? null;
  }

  return (series) => {
    const last = lastOf.get(series);
    const slot = last?.free === true ? last : leastUsed(slots.filter(({ free }) => free));
    if (slot === null) return null;
    // A Map keeps the order of insertion: the least recently used is forgotten first.
    lastOf.delete(series);
    lastOf.set(series, slot);
    const [oldest] = lastOf.keys();
    if (lastOf.size > rememberedSeriesMax && oldest !== undefined) lastOf.delete(oldest);
    return slot;
  };
}
