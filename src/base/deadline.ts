/** Deadlines as abort signals: made once at the edge, honoured by every await below it. */
import type { Clock, Timer } from './clock.ts';

/** The longest delay of a platform timer: a longer one would fire at once. */
const timerMsMax = 2 ** 31 - 1;

export interface Deadline {
  readonly signal: AbortSignal;
  /** Stops the timer; the signal then never aborts by itself. */
  cancel(): void;
}

/** Aborts with a TimeoutError after `delayMs`, or with the reason of `outer` when that aborts first. */
export function deadline(clock: Clock, delayMs: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  let timer: Timer;
  const wait = (leftMs: number): void => {
    const stepMs = Math.min(leftMs, timerMsMax);
    timer = clock.after(stepMs, () => {
      if (leftMs > stepMs) wait(leftMs - stepMs);
      else controller.abort(new DOMException('the time is up', 'TimeoutError'));
    });
  };
  wait(Math.max(0, delayMs));
  const onOuter = (): void => {
    timer.cancel();
    controller.abort(outer?.reason);
  };
  if (outer?.aborted === true) onOuter();
  else outer?.addEventListener('abort', onOuter, { once: true });
  return {
    signal: controller.signal,
    cancel() {
      timer.cancel();
      outer?.removeEventListener('abort', onOuter);
    },
  };
}

/** Whether a signal aborted at its deadline, and not because the caller cancelled. */
export function timeIsUp(signal: AbortSignal): boolean {
  const reason: unknown = signal.reason;
  return signal.aborted && reason instanceof Error && reason.name === 'TimeoutError';
}

/** The work's value, or a rejection as soon as the signal aborts; work that is still running is not awaited. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new Error('aborted'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
