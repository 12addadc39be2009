/** A task that is done again and again, such as storing what is kept until the database takes it. */
import type { Clock, Timer } from './clock.ts';
import { Fault } from './fault.ts';
import type { Log } from './log.ts';

export interface Repeated extends Timer {
  /** Does it now, and once more if it is under way. */
  now(): void;
}

/**
 * Does `task` every `intervalMs`, one after the other; one that fails is done again at its next time. A refusal is
 * expected: it is logged, once until the task is done, only as the words of `refusal`. Any other error is logged, once for as
 * long as it stays the same.
 */
export function repeatedly(
  clock: Clock,
  intervalMs: number,
  log: Log,
  task: () => Promise<void>,
  refusal?: string,
): Repeated {
  let ended = false;
  let running = false;
  let again = false;
  let timer: Timer | undefined;
  let told: string | undefined;
  const wait = (): void => {
    if (!ended) timer = clock.after(intervalMs, () => void run());
  };
  const run = async (): Promise<void> => {
    running = true;
    do {
      again = false;
      await attempt();
    } while (again);
    running = false;
    wait();
  };
  const attempt = async (): Promise<void> => {
    try {
      await task();
      told = undefined;
    } catch (error) {
      const text = String(error);
      // What a task meets that was under way at its cancel is the end of others.
      if (ended) return;
      if (error instanceof Fault) {
        if (refusal !== undefined && told !== refusal)
          log.warn(refusal, { error: error.cause instanceof Error ? error.cause.message : error.message });
        told = refusal ?? told;
      } else if (text !== told) {
        log.error('periodic task failed', { error: text });
        told = text;
      }
    }
  };
  wait();
  return {
    now() {
      again = running && !ended;
      if (running || ended) return;
      timer?.cancel();
      void run();
    },
    cancel() {
      ended = true;
      again = false;
      timer?.cancel();
    },
  };
}
