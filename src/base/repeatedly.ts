/** A periodic task, such as storing a backlog until the database accepts it. */
import type { Clock, Timer } from './clock.ts';
import { Fault } from './fault.ts';
import type { Log } from './log.ts';

export interface Repeated extends Timer {
  /** Runs it now, and once more if it is already running. */
  now(): void;
}

/**
 * Runs `task` every `intervalMs`, without overlap; after a failure it runs again at its next time. A refusal is
 * expected: it is logged once until the task succeeds, with only the words of `refusal`. Any other error is logged once for as
 * long as it stays the same.
 */
export function repeatedly(
  clock: Clock,
  intervalMs: number,
  log: Log,
  task: () => Promise<void>,
  refusal?: string,
): Repeated {
  return new RepeatedTask(clock, intervalMs, log, task, refusal);
}

class RepeatedTask implements Repeated {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #task: () => Promise<void>;
  readonly #refusal: string | undefined;
  readonly #log: Log;
  #ended = false;
  #running = false;
  #again = false;
  #timer: Timer | undefined;
  #told: string | undefined;

  constructor(clock: Clock, intervalMs: number, log: Log, task: () => Promise<void>, refusal?: string) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#task = task;
    this.#refusal = refusal;
    this.#log = log;
    this.#wait();
  }

  now(): void {
    this.#again = this.#running && !this.#ended;
    if (this.#running || this.#ended) return;
    this.#timer?.cancel();
    void this.#run();
  }

  cancel() {
    this.#ended = true;
    this.#again = false;
    this.#timer?.cancel();
  }

  #wait(): void {
    if (!this.#ended) this.#timer = this.#clock.after(this.#intervalMs, () => void this.#run());
  }

  async #run(): Promise<void> {
    this.#running = true;
    do {
      this.#again = false;
      await this.#attempt();
    } while (this.#again);
    this.#running = false;
    this.#wait();
  }

  async #attempt(): Promise<void> {
    try {
      await this.#task();
      this.#told = undefined;
    } catch (error) {
      const text = String(error);
      // A failure of a task that was running when it was cancelled is not reported.
      if (this.#ended) return;
      if (error instanceof Fault) {
        if (this.#refusal !== undefined && this.#told !== this.#refusal)
          this.#log.warn(this.#refusal, { error: error.cause instanceof Error ? error.cause.message : error.message });
        this.#told = this.#refusal ?? this.#told;
      } else if (text !== this.#told) {
        this.#log.error('periodic task failed', { error: text });
        this.#told = text;
      }
    }
  }
}
