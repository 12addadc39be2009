/** Backtests of a running service: each in a thread of its own, few at once, each with a deadline [rules §10.5]. */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { callThread } from '../base/thread.ts';
import type { BacktestResult } from '../rules/backtest/backtest.ts';
import type { BacktestEvent, BacktestMethods } from './backtest-thread.ts';
import type { BacktestJob } from './job.ts';

const ended = (): Fault => new Fault('not-ready', 'the backtest was ended before its answer; try again');

function tooLarge(memoryMb: number): Fault {
  const message = `the backtest would take more than ${memoryMb} MB of memory; choose a shorter window`;
  return new Fault('too-many-evaluations', message, { details: { memory_mb: memoryMb } });
}

export class Backtests {
  readonly #clock: Clock;
  #running = 0;
  #ended = false;
  readonly #workers = new Set<Worker>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Refuses with `backtest-busy`, `deadline-exceeded` or what the job refuses with. Ends when nobody waits for it any more. */
  async run(job: BacktestJob, gone?: AbortSignal, progress?: (share: number) => void): Promise<BacktestResult> {
    const { concurrent_max: most, deadline_ms: deadlineMs, memory_mb: memoryMb } = job.limits;
    if (this.#running >= most)
      throw new Fault('backtest-busy', `${most} backtests are running; try again when one has ended`);
    if (this.#ended || gone?.aborted === true) throw ended();
    this.#running++;
    const worker = new Worker(new URL('./backtest-thread.ts', import.meta.url), {
      workerData: job,
      name: 'backtest',
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    this.#workers.add(worker);
    try {
      const late = (): Fault =>
        new Fault('deadline-exceeded', `the backtest took longer than ${deadlineMs} ms; choose a shorter window`);
      const caller = callThread<BacktestMethods, BacktestEvent>(worker, this.#clock, deadlineMs, late);
      if (progress !== undefined) caller.onEvent(({ share }) => progress(share));
      gone?.addEventListener('abort', () => void worker.terminate(), { once: true });
      let failure = new Fault('internal-error', 'the backtest ended without an answer');
      worker.on('error', (error) => {
        if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY')
          failure = tooLarge(memoryMb);
      });
      worker.on('exit', () => caller.close(this.#ended || gone?.aborted === true ? ended() : failure));
      return await caller.call('run', null);
    } finally {
      this.#running--;
      this.#workers.delete(worker);
      await worker.terminate();
    }
  }

  /** Ends those that run. */
  async stop(): Promise<void> {
    this.#ended = true;
    await Promise.all([...this.#workers].map((worker) => worker.terminate()));
  }
}
