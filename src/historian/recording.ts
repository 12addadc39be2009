/**
 * Recording as the main thread sees it (ARCHITECTURE.md, "Threads"): a thread of its own, so that a slow disk delays nothing else. When
 * it dies it is started again; what it had not stored is lost, what the live table shows by then is recorded anew. At its end
 * what it could not store is kept, a file a call: what there is to keep decides how long an end takes, not one deadline.
 */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { type Caller, callThread } from '../base/thread.ts';
import { noCounts, type RecorderCounts } from './recorder.ts';
import { type RecorderAt, startRecorderAt } from './recorder-at.ts';
import type { RecorderEnd, RecorderMethods, RecorderWorkerData, Recording } from './recorder-protocol.ts';

export interface RecordingParts extends RecorderWorkerData {
  readonly clock: Clock;
  readonly log: Log;
  /** True: in this thread, for tests. */
  readonly inProcess?: boolean;
}

interface Instance extends RecorderAt {
  onDeath(listener: (reason: string) => void): void;
  terminate(): Promise<void>;
}

export function startRecording(parts: RecordingParts): Recording {
  const { clock, log, setup } = parts;
  let ended = false;
  let instance: Instance | undefined;
  let timer: Timer | undefined;

  const begin = (): void => {
    const started = parts.inProcess === true ? startTwin(parts) : startWorker(parts);
    instance = started;
    started.onDeath((reason) => {
      if (ended || instance !== started) return;
      log.error('historian thread failed; restarting it', { reason });
      instance = undefined;
      timer = clock.after(setup.limits.restart_delay_ms, begin);
    });
  };
  const running = (): Instance => {
    if (instance === undefined) throw new Fault('storage-unavailable', 'history is not being recorded now; try again');
    return instance;
  };
  begin();
  return {
    append: async (columns) => running().append(columns),
    counts: async () => running().counts(),
    async stop(store) {
      ended = true;
      timer?.cancel();
      const stopped = instance;
      instance = undefined;
      if (stopped === undefined) return noCounts;
      try {
        return await endOf(stopped, store, log);
      } finally {
        await stopped.terminate();
      }
    },
  };
}

async function endOf(instance: RecorderAt, store: boolean, log: Log): Promise<RecorderCounts> {
  let end: RecorderEnd;
  try {
    end = await instance.stop(store);
  } catch (error) {
    log.error('recorder did not stop in time; unsaved readings are lost', { error: String(error) });
    return noCounts;
  }
  let { left } = end;
  try {
    while (left > 0) left = await instance.keep();
    return end.counts;
  } catch (error) {
    log.error('history lost: neither stored nor spooled', { rows: left, error: String(error) });
    return { ...end.counts, dropped: end.counts.dropped + left };
  }
}

function startWorker({ setup, place, spoolFolder, logLevel, clock }: RecordingParts): Instance {
  const worker = new Worker(new URL('./recorder-thread.ts', import.meta.url), {
    workerData: { setup, place, spoolFolder, logLevel } satisfies RecorderWorkerData,
    name: 'historian',
  });
  const { limits } = setup;
  const caller: Caller<RecorderMethods, never> = callThread(worker, clock, limits.call_timeout_ms);
  let reason = 'the thread ended';
  worker.on('error', (error) => {
    reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  });
  worker.on('exit', () =>
    caller.close(new Fault('storage-unavailable', 'history is not being recorded now; try again')),
  );
  return {
    append: (columns) => caller.call('append', columns),
    counts: () => caller.call('counts', null),
    stop: (store) => caller.call('stop', store),
    keep: () => caller.call('keep', null),
    onDeath: (listener) => void worker.on('exit', () => listener(reason)),
    terminate: async () => void (await worker.terminate()),
  };
}

function startTwin(parts: RecordingParts): Instance {
  return {
    ...startRecorderAt(parts, parts.clock, parts.log),
    onDeath: () => undefined,
    terminate: async () => undefined,
  };
}
