/**
 * One thread with at most one job, and its successors: a computation cannot be interrupted, so an aborted
 * job ends its thread, and another replaces it.
 */
import type { Transferable, Worker } from 'node:worker_threads';
import type { Log } from '../../base/log.ts';

/** A thread's first message, when it can take jobs. */
export const readyMessage = 'ready';

export class WorkerSlot<Job, Reply> {
  private readonly spawn: () => Worker;
  private readonly log: Log;
  private readonly first = Promise.withResolvers<void>();
  /** Null after a thread died without a job: the next job starts another, so that a broken one is not restarted forever. */
  private worker: Worker | null = null;
  private ready = false;
  private job: { readonly resolve: (reply: Reply) => void; readonly reject: (error: Error) => void } | null = null;
  /** The thread is being terminated; the slot is free once it has ended. */
  private ending = false;
  private closed = false;

  constructor(spawn: () => Worker, log: Log) {
    this.spawn = spawn;
    this.log = log;
    this.start();
  }

  /** Resolves when the first thread is up; rejects when it dies before. */
  get started(): Promise<void> {
    return this.first.promise;
  }

  get alive(): boolean {
    return this.ready && this.worker !== null;
  }

  get free(): boolean {
    return this.job === null && !this.ending && !this.closed;
  }

  /** Rejects when the signal aborts and the thread has ended: until then its core is busy, and so is the caller. */
  run(job: Job, moved: readonly Transferable[], signal: AbortSignal): Promise<Reply> {
    if (!this.free) throw new Error('a thread takes one job at a time');
    return new Promise<Reply>((resolve, reject) => {
      const onAbort = (): void => void this.replace().then(() => reject(new Error('aborted')), reject);
      const settled = (): void => signal.removeEventListener('abort', onAbort);
      signal.addEventListener('abort', onAbort, { once: true });
      this.job = {
        resolve(reply) {
          settled();
          resolve(reply);
        },
        reject(error) {
          settled();
          reject(error);
        },
      };
      (this.worker ?? this.start()).postMessage(job, moved);
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.worker?.terminate();
    this.worker = null;
    this.take()?.reject(new Error('the forecaster is stopping'));
  }

  private start(): Worker {
    const worker = this.spawn();
    this.worker = worker;
    this.ready = false;
    worker.on('message', (message: unknown) => {
      if (this.worker !== worker) return;
      if (message === readyMessage) {
        this.ready = true;
        this.first.resolve();
      }
      // The threads of this slot send only replies.
      else this.take()?.resolve(message as Reply);
    });
    worker.on('error', (error: unknown) => {
      this.log.error('forecasting thread failed', { error: error instanceof Error ? error.stack : String(error) });
    });
    worker.on('exit', () => this.onExit(worker));
    return worker;
  }

  private onExit(worker: Worker): void {
    if (this.worker !== worker || this.ending || this.closed) return;
    this.worker = null;
    this.first.reject(new Error('forecasting thread failed at its start'));
    const job = this.take();
    if (job === null) return;
    this.start();
    job.reject(new Error('the forecasting thread died'));
  }

  private async replace(): Promise<void> {
    this.ending = true;
    await this.worker?.terminate();
    this.worker = null;
    this.take();
    this.ending = false;
    if (!this.closed) this.start();
  }

  /** Takes the job from the slot. */
  private take() {
    const { job } = this;
    this.job = null;
    return job;
  }
}
