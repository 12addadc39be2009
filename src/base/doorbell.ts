/**
 * Doorbell: wakes another thread through one Int32 in shared memory. Ringing is a counter increment, so rings that
 * come faster than the listener answers merge into one wake-up, and a listener that restarts needs no new port.
 */
import type { Clock } from './clock.ts';

export function ring(cells: Int32Array<SharedArrayBuffer>, index: number): void {
  Atomics.add(cells, index, 1);
  Atomics.notify(cells, index);
}

export interface DoorbellListener {
  stop(): void;
}

/**
 * Calls `onRing` (in a later turn) after each ring, at least once for any number of rings since the last call.
 * The wait is renewed every `renewMs` so that `stop` is honoured even when nobody rings.
 */
export function listen(
  clock: Clock,
  cells: Int32Array<SharedArrayBuffer>,
  index: number,
  onRing: () => void,
  renewMs = 1000,
): DoorbellListener {
  let stopped = false;
  let seen = Atomics.load(cells, index);
  const next = (): void => {
    if (stopped) return;
    clock.onChange(cells, index, seen, renewMs, answer);
  };
  const answer = (): void => {
    if (stopped) return;
    const now = Atomics.load(cells, index);
    if (now !== seen) {
      seen = now;
      onRing();
    }
    next();
  };
  next();
  return {
    stop() {
      stopped = true;
    },
  };
}
