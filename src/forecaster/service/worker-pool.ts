/**
 * A fixed number of threads, each with one job at a time. A job that is aborted ends its thread, because work that computes
 * cannot be asked to stop; another thread takes its place. The same series goes to the same thread where that is free.
 */
import type { Transferable, Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { rememberedSeriesMax } from './limits.ts';

/** A thread's first message, when it can take jobs. */
export const readyMessage = 'ready';

export interface WorkerPool<Job, Reply> {
  /** Rejects when the signal aborts, when the thread dies, and when no thread is free. */
  run(job: Job, moved: readonly Transferable[], series: string, signal: AbortSignal): Promise<Reply>;
  /** Threads that can take jobs now or are taking one. */
  readonly alive: number;
  close(): Promise<void>;
}

interface Slot<Reply> {
  /** Null after a thread died without a job: the next job starts another, so that a broken one is not started for ever. */
  worker: Worker | null;
  ready: boolean;
  job: { readonly resolve: (reply: Reply) => void; readonly reject: (error: Error) => void } | null;
  /** The thread is being ended; the slot is free when it is gone. */
  ending: boolean;
}

/** Resolves when every thread is up; rejects when one dies first or they take longer than `startMs`. */
export async function startWorkerPool<Job, Reply>(
  size: number,
  spawn: () => Worker,
  about: { readonly clock: Clock; readonly log: Log; readonly startMs: number },
): Promise<WorkerPool<Job, Reply>> {
  const slots: Slot<Reply>[] = Array.from({ length: size }, () => ({
    worker: null,
    ready: false,
    job: null,
    ending: false,
  }));
  const lastSlotOf = new Map<string, number>();
  const started = Promise.withResolvers<void>();
  let closed = false;

  function start(slot: Slot<Reply>): Worker {
    const worker = spawn();
    slot.worker = worker;
    slot.ready = false;
    worker.on('message', (message: unknown) => {
      if (slot.worker !== worker) return;
      if (message === readyMessage) {
        slot.ready = true;
        if (slots.every((each) => each.ready)) started.resolve();
        return;
      }
      const { job } = slot;
      slot.job = null;
      // The threads of this pool answer nothing but replies.
      job?.resolve(message as Reply);
    });
    worker.on('error', (error: unknown) => {
      about.log.error('a forecasting thread died', { error: error instanceof Error ? error.stack : String(error) });
    });
    worker.on('exit', () => {
      if (slot.worker !== worker || slot.ending) return;
      slot.worker = null;
      const { job } = slot;
      slot.job = null;
      job?.reject(new Error('the forecasting thread died'));
      started.reject(new Error('a forecasting thread died at its start'));
      if (job !== null && !closed) start(slot);
    });
    return worker;
  }

  /** Ends the slot's thread and puts another in its place; the slot is free again once the old one is gone. */
  async function replace(slot: Slot<Reply>): Promise<void> {
    slot.ending = true;
    await slot.worker?.terminate();
    slot.worker = null;
    slot.job = null;
    slot.ending = false;
    if (!closed) start(slot);
  }

  function freeSlot(series: string): Slot<Reply> | undefined {
    const isFree = (slot: Slot<Reply> | undefined): boolean => slot?.job === null && !slot.ending;
    const known = slots[lastSlotOf.get(series) ?? -1];
    // A new series takes the thread that the fewest others come back to.
    const users = (slot: Slot<Reply>): number => {
      const own = slots.indexOf(slot);
      return [...lastSlotOf.values()].reduce((count, index) => count + (index === own ? 1 : 0), 0);
    };
    const free = slots.filter(isFree);
    const slot = isFree(known) ? known : free.length < 2 ? free[0] : free.sort((a, b) => users(a) - users(b))[0];
    if (slot === undefined) return undefined;
    lastSlotOf.delete(series);
    lastSlotOf.set(series, slots.indexOf(slot));
    const [oldest] = lastSlotOf.keys();
    if (lastSlotOf.size > rememberedSeriesMax && oldest !== undefined) lastSlotOf.delete(oldest);
    return slot;
  }

  for (const slot of slots) start(slot);
  const late = about.clock.after(about.startMs, () =>
    started.reject(new Error('the forecasting threads did not come up')),
  );
  const pool: WorkerPool<Job, Reply> = {
    get alive() {
      return slots.filter((slot) => slot.ready && slot.worker !== null).length;
    },

    run(job, moved, series, signal) {
      if (closed || signal.aborted) return Promise.reject(new Error('aborted'));
      const slot = freeSlot(series);
      if (slot === undefined) return Promise.reject(new Error('every forecasting thread is busy'));
      return new Promise<Reply>((resolve, reject) => {
        // The caller's slot is given back when the thread is gone, not before: its core is busy until then.
        const onAbort = (): void => void replace(slot).then(() => reject(new Error('aborted')), reject);
        const settled = (): void => signal.removeEventListener('abort', onAbort);
        signal.addEventListener('abort', onAbort, { once: true });
        slot.job = {
          resolve: (reply) => (settled(), resolve(reply)),
          reject: (error) => (settled(), reject(error)),
        };
        (slot.worker ?? start(slot)).postMessage(job, moved);
      });
    },

    async close() {
      closed = true;
      await Promise.all(
        slots.map(async (slot) => {
          slot.ending = true;
          await slot.worker?.terminate();
          slot.worker = null;
          slot.job?.reject(new Error('the forecaster is stopping'));
        }),
      );
    },
  };
  try {
    await started.promise;
    return pool;
  } catch (error) {
    await pool.close();
    throw error;
  } finally {
    late.cancel();
  }
}
