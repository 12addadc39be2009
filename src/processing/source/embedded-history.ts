/**
 * The service's own recorded history as a history adapter, the default [data-processing §4.10]; with `knownAtMs` as it was known at
 * that moment.
 */
import type { HistoryReader, WindowAnswer } from '../../historian/historian.ts';
import type { HistoryAdapter } from './history-adapter.ts';

export function embeddedHistory(historian: HistoryReader, knownAtMs?: number): HistoryAdapter {
  return {
    async read(windows, signal) {
      signal.throwIfAborted();
      const snapshot = await historian.snapshot(windows.map(({ series }) => series));
      try {
        const answers: WindowAnswer[] = [];
        for (const window of windows)
          answers.push(await snapshot.window({ ...window, ...(knownAtMs !== undefined && { knownAtMs }) }, signal));
        return answers;
      } finally {
        await snapshot.close();
      }
    },
  };
}
