/** A recorder with the store it writes to and the files for what that does not take: in its thread, and in-process for tests. */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { historySpool } from './history-spool.ts';
import { openHistorian } from './open-historian.ts';
import { startRecorder } from './recorder.ts';
import { type RecorderWorkerData, type Recording, rowsOf } from './recorder-protocol.ts';

export function startRecorderAt({ setup, place, spoolFolder }: RecorderWorkerData, clock: Clock, log: Log): Recording {
  const historian = openHistorian(place, setup.limits);
  const recorder = startRecorder(setup, historian, clock, log);
  return {
    append: (columns) => recorder.append(rowsOf(columns)),
    counts: async () => recorder.counts(),
    async stop(store) {
      const left = await recorder.stop(store);
      if (left.length > 0 && spoolFolder === null)
        log.error('history is lost: it could not be stored before the end', { rows: left.length });
      if (left.length > 0 && spoolFolder !== null) {
        historySpool(spoolFolder).keep(left);
        log.warn('readings that could not be stored are kept until the database answers', { rows: left.length });
      }
      // A statement may still be under way: what it does is undone, or done once.
      void historian.close();
      return recorder.counts();
    },
  };
}
