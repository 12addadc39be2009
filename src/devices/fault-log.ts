/** Faults that repeat at every poll: the first is logged, the others are counted until it works again. */
import type { Log } from '../base/log.ts';

export interface FaultLog {
  /** `place` names what failed; a fault with the same words at the same place is a repetition. */
  failed(place: string, what: string, details: Readonly<Record<string, unknown>>): void;
  worked(place: string): void;
}

export function createFaultLog(log: Log): FaultLog {
  const open = new Map<string, { readonly words: string; times: number }>();
  return {
    failed(place, what, details) {
      const words = `${what} ${String(details['reason'])}`;
      const known = open.get(place);
      if (known?.words === words) {
        known.times++;
        return;
      }
      open.set(place, { words, times: 1 });
      log.warn(what, details);
    },
    worked(place) {
      const known = open.get(place);
      if (known === undefined) return;
      open.delete(place);
      log.info('recovered', { place, failed: known.words, times: known.times });
    },
  };
}
