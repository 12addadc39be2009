/**
 * The main thread's side of recording (ARCHITECTURE.md, "Threads"): recording has its own thread, so a slow disk delays nothing else. If
 * the thread dies it is restarted; unstored rows are lost, and current values are recorded again. At the end
 * unstored rows are spooled, one file per call: the amount of data decides how long an end takes, not one deadline.
 */
import { Worker } from 'node:worker_threads';
import { type Clock, type Timer, withTimeout } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { type Caller, callThread, threadMemory } from '../base/thread.ts';
import type { SitePoint } from '../site/site.ts';
import { commandedPoints } from './commands.ts';
import type { AppendReport, SeriesId } from './historian.ts';
import { type Earlier, recordedPoints } from './look.ts';
import { addedCounts, noCounts, type RecorderCounts, type RecorderSetup } from './recorder.ts';
import { type RecorderAt, startRecorderAt } from './recorder-at.ts';
import type {
  HistoryColumns,
  RecorderEnd,
  RecorderMethods,
  RecorderWorkerData,
  Recording,
} from './recorder-protocol.ts';

/** Every series that is recorded of a site: measurements, and the commands of its actuators. */
export function recordedSeries(points: readonly SitePoint[]): SeriesId[] {
  return [
    ...recordedPoints(points).map(({ instance, id: point }) => ({ instance, point })),
    ...commandedPoints(points).map(({ instance, id: point }) => ({ instance, point, kind: 'action' as const })),
  ];
}

export interface RecordingParts extends Omit<RecorderWorkerData, 'setup'> {
  /** Of the site as it is now. */
  readonly setup: () => RecorderSetup;
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
  return new RestartedRecording(parts);
}

class RestartedRecording implements Recording {
  readonly #parts: RecordingParts;
  #instance: Instance | undefined;
  #timer: Timer | undefined;
  #ended = false;
  /** Of threads that ended normally. */
  #past = noCounts;

  constructor(parts: RecordingParts) {
    this.#parts = parts;
    this.#begin(parts.setup().earlier ?? 'unstored');
  }

  async append(columns: readonly HistoryColumns[]): Promise<AppendReport> {
    return this.#running().append(columns);
  }

  async settle(series: readonly SeriesId[]): Promise<boolean> {
    const running = this.#instance;
    if (running === undefined) return false;
    const { clock } = this.#parts;
    const timeoutMs = this.#parts.setup().limits.settle_timeout_ms;
    // The recorder reports a failure: the read continues with the stored rows.
    const settled = running.settle({ series, untilMs: clock.monotonicMs() + timeoutMs }).catch(() => false);
    return (await withTimeout(clock, timeoutMs, settled)) ?? false;
  }

  async counts(): Promise<RecorderCounts> {
    return addedCounts(this.#past, await this.#running().counts());
  }

  async renew(): Promise<void> {
    const { observations, runs, lastMs } = this.#parts.setup().memory.runs;
    this.#past = { ...(await this.#end(true)), waiting: 0, failing: false };
    // Observations until the first read of the next recorder are not counted.
    const earlier = { observations: observations.slice(), runs: runs.slice(), lastMs: lastMs.slice() };
    if (!this.#ended) this.#begin(earlier);
  }

  async stop(store: boolean): Promise<RecorderCounts> {
    this.#ended = true;
    return this.#end(store);
  }

  #begin(earlier: Earlier): void {
    const { clock, log } = this.#parts;
    const setup = { ...this.#parts.setup(), earlier };
    const started = this.#parts.inProcess === true ? startTwin(this.#parts, setup) : startWorker(this.#parts, setup);
    this.#instance = started;
    started.onDeath((reason) => {
      if (this.#ended || this.#instance !== started) return;
      log.error('historian thread failed; restarting it', { reason });
      this.#instance = undefined;
      this.#timer = clock.after(setup.limits.restart_delay_ms, () => this.#begin('unknown'));
    });
  }

  #running(): Instance {
    if (this.#instance === undefined)
      throw new Fault('storage-unavailable', 'history is not being recorded now; try again');
    return this.#instance;
  }

  async #end(store: boolean): Promise<RecorderCounts> {
    this.#timer?.cancel();
    const stopped = this.#instance;
    this.#instance = undefined;
    if (stopped === undefined) return this.#past;
    try {
      return addedCounts(this.#past, await endOf(stopped, store, this.#parts.log));
    } finally {
      await stopped.terminate();
    }
  }
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

function startWorker(
  { place, journalFolder, spoolFolder, logLevel, clock }: RecordingParts,
  setup: RecorderWorkerData['setup'],
): Instance {
  const worker = new Worker(new URL('./recorder-thread.ts', import.meta.url), {
    workerData: { setup, place, journalFolder, spoolFolder, logLevel } satisfies RecorderWorkerData,
    name: 'historian',
    resourceLimits: threadMemory,
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
    settle: (request) => caller.call('settle', request),
    counts: () => caller.call('counts', null),
    stop: (store) => caller.call('stop', store),
    keep: () => caller.call('keep', null),
    onDeath: (listener) => void worker.on('exit', () => listener(reason)),
    terminate: async () => void (await worker.terminate()),
  };
}

function startTwin(parts: RecordingParts, setup: RecorderWorkerData['setup']): Instance {
  return {
    ...startRecorderAt({ ...parts, setup }, parts.clock, parts.log),
    onDeath: () => undefined,
    terminate: async () => undefined,
  };
}
