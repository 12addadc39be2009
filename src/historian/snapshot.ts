/** One state of a history, read in short turns [data-processing §4.2]; the same over both engines. */
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { createPace } from '../base/turns.ts';
import type { HistorySnapshot } from './historian.ts';
import { type ReadOptions, readWindow } from './window.ts';
import type { WindowSource } from './window-queries.ts';

/** If `ask` of the source throws a `Fault`, the history cannot be read, and `close` calls `end` with `false`. */
export function historySnapshot(
  source: WindowSource,
  options: ReadOptions,
  end: (sound: boolean) => void | Promise<void>,
): HistorySnapshot {
  let state: 'open' | 'broken' | 'closed' = 'open';
  return {
    async window(request, signal) {
      if (state === 'closed') throw new Error('the snapshot is closed');
      signal?.throwIfAborted();
      const pace = createPace(systemClock);
      const turn = async (): Promise<void> => {
        await pace();
        signal?.throwIfAborted();
      };
      try {
        return await readWindow(source, request, options, turn);
      } catch (error) {
        if (error instanceof Fault) state = 'broken';
        throw error;
      }
    },
    async close() {
      if (state === 'closed') return;
      const sound = state === 'open';
      state = 'closed';
      await end(sound);
    },
  };
}

export function storeUnavailable(cause: unknown): Fault {
  return new Fault('source-unavailable', 'the history store cannot be read now; try again', { cause });
}
