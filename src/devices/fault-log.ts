/** Faults that repeat at every poll: the first is logged, the others are counted until the next success. */
import type { Log } from '../base/log.ts';

export interface FaultLog {
  /** `place` identifies what failed; the same message at the same place is a repetition. */
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
