/** Two ends of a thread's port on simulated time: messages of one direction keep their order, of two pairs they need not. */
import type { Clock } from '../../base/clock.ts';
import type { Port } from '../../base/thread.ts';
import type { Random } from './random.ts';

export interface PortPair {
  readonly near: Port;
  readonly far: Port;
  /** One end has died: messages on their way are lost. */
  cut(): void;
  /** The other end is busy until then: what is sent to it arrives afterwards. */
  stall(untilMs: number): void;
}

const longestMs = 4;

/** `seen` is called for each message when the other end sends it. */
export function portPair(clock: Clock, random: Random, seen: (message: unknown) => void): PortPair {
  let isCut = false;
  const end = () => ({ listeners: [] as ((message: unknown) => void)[], arrivesMs: 0 });
  const [near, far] = [end(), end()];
  const port = (
    own: ReturnType<typeof end>,
    other: ReturnType<typeof end>,
    onSend: (message: unknown) => void,
  ): Port => ({
    postMessage(message) {
      if (isCut) return;
      onSend(message);
      const copy: unknown = structuredClone(message);
      // Never before the previous one.
      other.arrivesMs = Math.max(other.arrivesMs, clock.monotonicMs() + random.below(longestMs));
      clock.after(other.arrivesMs - clock.monotonicMs(), () => {
        if (!isCut) for (const listener of other.listeners) listener(copy);
      });
    },
    on: (_event, listener) => void own.listeners.push(listener),
  });
  return {
    near: port(near, far, () => undefined),
    far: port(far, near, seen),
    cut: () => void (isCut = true),
    stall: (untilMs) => void (far.arrivesMs = Math.max(far.arrivesMs, untilMs)),
  };
}
