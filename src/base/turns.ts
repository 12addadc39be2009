/**
 * Long work in short turns: work is written as steps (a generator that yields where it may be interrupted), and the caller
 * decides how many of them run before the event loop turns.
 */
import type { Clock } from './clock.ts';

/** Yields where it may be interrupted; what it returns is the result. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Between two turns of a thread that must stay responsive, in milliseconds. */
export const turnMs = 5;

/** All steps in this turn. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The steps in turns of about `turnMs`, the event loop turning in between; given up between two of them when `signal` says so. */
export async function inTurns<T>(clock: Clock, steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  const pace = createPace(clock);
  try {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await pace();
      signal?.throwIfAborted();
    }
  } finally {
    // Whatever the steps hold open is closed where they stand.
    steps.return(undefined as never);
  }
}

/** To be awaited between two pieces of work: it turns the event loop where the present turn has lasted `ms`. */
export function createPace(clock: Clock, ms = turnMs): () => Promise<void> | undefined {
  let begunMs = clock.monotonicMs();
  return () => {
    if (clock.monotonicMs() - begunMs < ms) return undefined;
    return new Promise((resolve) =>
      clock.soon(() => {
        begunMs = clock.monotonicMs();
        resolve();
      }),
    );
  };
}

/** Resolves in a later turn of the event loop. */
export function nextTurn(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.soon(resolve));
}
