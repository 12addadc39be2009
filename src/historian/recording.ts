/**
 * Recording as the main thread sees it (house, "Threads"): a thread of its own, so that a slow disk delays nothing else. When
 * it dies it is started again; what it had not stored is lost, what the live table shows by then is recorded anew.
 */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { type Caller, callThread } from '../base/thread.ts';
import { noCounts } from './recorder.ts';
import { startRecorderAt } from './recorder-at.ts';
import type { RecorderMethods, RecorderWorkerData, Recording } from './recorder-protocol.ts';

export interface RecordingParts extends RecorderWorkerData {
  readonly clock: Clock;
  readonly log: Log;
  /** True: in this thread, for tests. */
  readonly inProcess?: boolean;
}

interface Instance extends Recording {
  onDeath(listener: (reason: string) => void): void;
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
      log.error('the historian thread died; it is started again', { reason });
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
      return (await stopped?.stop(store)) ?? noCounts;
    },
  };
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
  const gone = (): void =>
    caller.close(new Fault('storage-unavailable', 'history is not being recorded now; try again'));
  worker.on('exit', gone);
  return {
    append: (columns) => caller.call('append', columns),
    counts: () => caller.call('counts', null),
    async stop(store) {
      const deadline = clock.after(limits.stop_timeout_ms, gone);
      try {
        return await caller.call('stop', store);
      } finally {
        deadline.cancel();
        await worker.terminate();
      }
    },
    onDeath: (listener) => void worker.on('exit', () => listener(reason)),
  };
}

function startTwin(parts: RecordingParts): Instance {
  return { ...startRecorderAt(parts, parts.clock, parts.log), onDeath: () => undefined };
}
