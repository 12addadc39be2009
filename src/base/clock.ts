/**
 * The only access to time. Monotonic milliseconds measure durations, wall-clock milliseconds label events ([platform §1.4],
 * "Durations"). `systemClock` is the real one; tests use `testing/simulated-clock.ts`.
 */

/** A timer that can be cancelled; cancelling twice is harmless. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the Unix epoch, for labels only. */
  wallMs(): number;
  /** Milliseconds on a clock that never jumps; equal in all threads of the process, fractional. */
  monotonicMs(): number;
  /** Runs `task` once, when at least `delayMs` have passed on the monotonic clock; `longestDelayMs` at most. */
  after(delayMs: number, task: () => void): Timer;
  /** Runs `task` in a later turn of the event loop, after pending I/O was read. */
  soon(task: () => void): void;
  /** Runs `task` once in a later turn: when the shared cell is not `seen` any more, or after `renewMs`. */
  onChange(cells: Int32Array<SharedArrayBuffer>, index: number, seen: number, renewMs: number, task: () => void): void;
}

const nanosecondsPerMs = 1e6;

/** The longest delay of a system timer, about 25 days: a longer one would fire at once. */
export const longestDelayMs = 2_147_483_647;

/** A delay longer than the maximum is a bug of the caller. It must not fire at once. */
export function checkDelay(delayMs: number): void {
  if (!(delayMs <= longestDelayMs)) throw new RangeError(`a timer cannot wait ${delayMs} ms`);
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  // hrtime, not performance.now(): the latter starts at 0 in each worker thread.
  monotonicMs: () => Number(process.hrtime.bigint()) / nanosecondsPerMs,
  after(delayMs, task) {
    checkDelay(delayMs);
    const dueMs = systemClock.monotonicMs() + delayMs;
    // Timers of the runtime count whole milliseconds of a coarser clock, and may fire one millisecond early.
    const fire = (): void => {
      const restMs = dueMs - systemClock.monotonicMs();
      if (restMs > 0) timer = setTimeout(fire, restMs);
      else task();
    };
    let timer = setTimeout(fire, Math.ceil(delayMs));
    return { cancel: () => clearTimeout(timer) };
  },
  soon(task) {
    setImmediate(task);
  },
  onChange(cells, index, seen, renewMs, task) {
    const waiting = Atomics.waitAsync(cells, index, seen, renewMs);
    if (waiting.async) void waiting.value.then(task);
    else setImmediate(task);
  },
};

/** Resolves after `delayMs`, or rejects with the signal's reason when that aborts first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortReason(signal));
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      if (signal) reject(abortReason(signal));
    };
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Waits for `work`, and not longer than `timeMs`. */
export async function withTimeout<T>(clock: Clock, timeMs: number, work: Promise<T>): Promise<T | undefined> {
  const over = new AbortController();
  const nothing = (): undefined => undefined;
  const deadline = sleep(clock, timeMs, over.signal).then(nothing, nothing);
  try {
    return await Promise.race([work, deadline]);
  } finally {
    over.abort();
  }
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted');
}
