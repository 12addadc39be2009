/**
 * Recording by one of several processes (docs/guides/several-machines.md): the leader records, for as long as it
 * leads, with the epoch that fences off a former one. Rows that it could not store are spooled to a file, and stored by the
 * process that has the file when the database is available again.
 */
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { repeatedly } from '../base/repeatedly.ts';
import type { Historian } from '../historian/historian.ts';
import type { HistorySpool } from '../historian/history-spool.ts';
import { addedCounts, noCounts, type RecorderCounts } from '../historian/recorder.ts';
import type { Recording } from '../historian/recorder-protocol.ts';

export interface SharedRecording extends Recording {
  /** This process leads from now on. */
  begin(epoch: number): void;
  /** It no longer leads: pending rows are spooled instead of stored. */
  end(): Promise<void>;
}

export interface SharedRecordingParts {
  readonly start: (epoch: number) => Recording;
  readonly spool: HistorySpool;
  readonly historian: Pick<Historian, 'append'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Retry interval for spooled readings. */
const spoolPollMs = 2000;

export function shareRecording(parts: SharedRecordingParts): SharedRecording {
  let current: Recording | undefined;
  let stopped = false;
  /** Of recorders that have ended. */
  let past = noCounts;
  const recover = (): Promise<void> =>
    parts.spool.recover().catch((error: unknown) => {
      parts.log.error('cannot recover spooled readings', { error: String(error) });
    });
  // Of a process that was killed.
  void recover();
  const storeKept = async (): Promise<void> => {
    const rows = await parts.spool.store(parts.historian, parts.clock);
    if (rows > 0) parts.log.info('spooled readings stored', { rows });
  };
  const waiting = 'cannot store spooled readings yet; retrying';
  const spool = repeatedly(parts.clock, spoolPollMs, parts.log, storeKept, waiting);
  const end = async (store: boolean): Promise<RecorderCounts> => {
    const ended = current;
    current = undefined;
    if (ended === undefined) return past;
    past = addedCounts(past, { ...(await ended.stop(store)), waiting: 0, failing: false });
    // A thread that was ended while it spooled readings left a partial last file.
    await recover();
    return past;
  };
  return {
    begin(epoch) {
      if (stopped) return;
      if (current !== undefined) throw new Error('this process records already');
      current = parts.start(epoch);
    },
    async end() {
      await end(false);
    },
    async append(columns) {
      if (current === undefined)
        throw new Fault('storage-unavailable', 'history is recorded by another process now; try again');
      return current.append(columns);
    },
    // A server stores rows as they are recorded.
    settle: async () => true,
    async counts() {
      return current === undefined ? past : addedCounts(past, await current.counts());
    },
    async renew() {
      await current?.renew();
    },
    async stop(store) {
      stopped = true;
      spool.cancel();
      return end(store);
    },
  };
}
