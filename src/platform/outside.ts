/**
 * Outbound calls: each has a deadline and a signal, and its outcome is a tagged value. The callee may continue after the
 * deadline; its late answer or error is dropped.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';

export type Outside<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'threw' }
  | { readonly kind: 'late' }
  | { readonly kind: 'cancelled' };

export interface OutsideCall<T> {
  readonly clock: Clock;
  readonly log: Log;
  /** For the log line when the call fails. */
  readonly what: string;
  readonly deadlineMs: number;
  /** Ends the wait early; the callee's own signal then aborts too. */
  readonly signal?: AbortSignal;
  readonly call: (signal: AbortSignal) => T | Promise<T>;
}

export function callOutside<T>(parts: OutsideCall<T>): Promise<Outside<T>> {
  const { clock, log, what, deadlineMs, signal, call } = parts;
  if (signal?.aborted === true) return Promise.resolve({ kind: 'cancelled' });
  const controller = new AbortController();
  return new Promise((resolve) => {
    const settle = (outcome: Outside<T>): void => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      resolve(outcome);
    };
    const onAbort = (): void => {
      settle({ kind: 'cancelled' });
      controller.abort();
    };
    const timer = clock.after(deadlineMs, () => {
      log.warn(`${what} did not answer in time`, { deadlineMs });
      settle({ kind: 'late' });
      controller.abort();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    const answered = (value: T): void => settle({ kind: 'answered', value });
    const threw = (error: unknown): void => {
      settle({ kind: 'threw' });
      log.warn(`${what} failed`, { error: classOf(error) });
    };
    // An async function, so that a call that throws at once is treated like one that rejects.
    void (async () => call(controller.signal))().then(answered, threw);
  });
}

/** The error's class and no more: a message from outside may quote a credential. */
function classOf(error: unknown): string {
  try {
    return error instanceof Error ? error.constructor.name : typeof error;
  } catch {
    return 'unreadable';
  }
}
