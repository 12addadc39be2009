/**
 * Recording as the main thread sees it (house, "Threads"): a thread of its own, so that a slow disk delays nothing else. When
 * it dies it is started again; what it had not stored is lost, what the live table shows by then is recorded anew.
 */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log, LogLevel } from '../base/log.ts';
import { type Caller, callThread } from '../base/thread.ts';
import type { AppendReport } from './historian.ts';
import { openHistorian } from './open-historian.ts';
import { type RecorderCounts, type RecorderSetup, startRecorder } from './recorder.ts';
import { type HistoryColumns, type RecorderMethods, rowsOf } from './recorder-protocol.ts';

export interface RecorderWorkerData {
  readonly setup: RecorderSetup;
  readonly file: string;
  readonly logLevel: LogLevel;
}

export interface Recording {
  append(columns: readonly HistoryColumns[]): Promise<AppendReport>;
  counts(): Promise<RecorderCounts>;
  stop(): Promise<void>;
}

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
    async stop() {
      ended = true;
      timer?.cancel();
      await instance?.stop();
      instance = undefined;
    },
  };
}

function startWorker({ setup, file, logLevel, clock }: RecordingParts): Instance {
  const worker = new Worker(new URL('./recorder-thread.ts', import.meta.url), {
    workerData: { setup, file, logLevel } satisfies RecorderWorkerData,
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
    async stop() {
      const deadline = clock.after(limits.stop_timeout_ms, gone);
      try {
        await caller.call('stop', null);
      } finally {
        deadline.cancel();
        await worker.terminate();
      }
    },
    onDeath: (listener) => void worker.on('exit', () => listener(reason)),
  };
}

function startTwin({ setup, file, clock, log }: RecordingParts): Instance {
  const historian = openHistorian(file, setup.limits);
  const recorder = startRecorder(setup, historian, clock, log);
  return {
    append: async (columns) => recorder.append(rowsOf(columns)),
    counts: async () => recorder.counts(),
    async stop() {
      recorder.stop();
      historian.close();
    },
    onDeath: () => undefined,
  };
}
