/** The embedded store as a history adapter, the default (decisions §4 "History adapters"). */
import type { Historian } from '../../historian/historian.ts';
import type { HistoryAdapter } from './history-adapter.ts';

export function embeddedHistory(historian: Pick<Historian, 'snapshot'>): HistoryAdapter {
  return {
    async read(windows, signal) {
      signal.throwIfAborted();
      const snapshot = historian.snapshot();
      try {
        return windows.map((window) => snapshot.window(window));
      } finally {
        snapshot.close();
      }
    },
  };
}
