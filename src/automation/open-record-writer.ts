/**
 * Where the engine's records are stored: beside it, where a server stores them, or by a thread of their own, where the disk of
 * this machine does. Either way the tick thread waits for neither [rules §6.3].
 */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log, LogLevel } from '../base/log.ts';
import { type Caller, callThread } from '../base/thread.ts';
import type { DatabasePlace, RuntimeDatabase } from '../storage/database.ts';
import { createHistoryStore } from './history-store.ts';
import type { AutomationLimits } from './limits.ts';
import { createRecordWriter, type RecordBatch, type RecordWriter, type WriterCounts } from './record-writer.ts';
import { createRuleLog } from './rule-log.ts';
import type { HistoryRow } from './run-blocks.ts';
import { noJournal, openRunJournal } from './run-journal.ts';

export interface OpenRecordWriter extends RecordWriter {
  /** Closes the files. The last call. */
  end(): Promise<void>;
}

export interface WriterSetup {
  readonly dataFolder: string;
  readonly limits: AutomationLimits;
}

/** In this thread. The writer owns the handle from now on. */
export function openRecordWriter(
  setup: WriterSetup & { readonly database: DatabasePlace },
  database: RuntimeDatabase,
  clock: Clock,
  log: Log,
  onCounts?: (counts: WriterCounts) => void,
): OpenRecordWriter {
  const ruleLog = createRuleLog(join(setup.dataFolder, 'logs', 'rules'), setup.limits, clock, log);
  const store = createHistoryStore(database);
  const told = onCounts === undefined ? {} : { onCounts };
  // A server keeps what other machines must know at once, and its disk is not a gateway's flash.
  const waits = typeof setup.database === 'string';
  const journal = waits ? openRunJournal(join(setup.dataFolder, 'journal')) : noJournal;
  const blockMs = waits ? setup.limits.history_block_ms : 0;
  const writer = createRecordWriter({ store, ruleLog, journal, blockMs, limits: setup.limits, clock, log, ...told });
  return {
    take: (batch) => writer.take(batch),
    counts: () => writer.counts(),
    settled: (ruleId) => writer.settled(ruleId),
    close: () => writer.close(),
    async end() {
      await ruleLog.close();
      await database.close();
    },
  };
}

export interface WriterWorkerData extends WriterSetup {
  /** A file. */
  readonly database: string;
  readonly logLevel: LogLevel;
}

export type WriterMethods = {
  readonly take: (batch: RecordBatch) => null;
  readonly settled: (ruleId: number) => boolean;
  readonly close: (question: null) => readonly HistoryRow[];
  readonly end: (question: null) => null;
};

interface Instance {
  readonly caller: Caller<WriterMethods, WriterCounts>;
  readonly worker: Worker;
}

/** In a thread of its own, which is started again when it dies; the engine keeps what that one has not taken. */
export function openRecordThread(data: WriterWorkerData, clock: Clock, log: Log): OpenRecordWriter {
  const { limits } = data;
  const gone = (): Fault => new Fault('storage-unavailable', 'executions are not being stored now');
  let current: Instance | undefined;
  let timer: Timer | undefined;
  let pauseMs = limits.engine_restart_ms;
  let ended = false;
  let counts: WriterCounts = { waiting: 0, dropped: 0 };

  const begin = (): void => {
    const worker = new Worker(new URL('./record-thread.ts', import.meta.url), { workerData: data, name: 'records' });
    const caller: Instance['caller'] = callThread(worker, clock, limits.engine_call_timeout_ms);
    const started = { caller, worker };
    caller.onEvent((told) => void (counts = told));
    let reason = 'the thread ended';
    worker.on('error', (error) => {
      reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    worker.on('exit', () => {
      caller.close(gone());
      if (current !== started || ended) return;
      current = undefined;
      log.error('record thread failed; restarting it', { reason, pauseMs });
      timer = clock.after(pauseMs, begin);
      pauseMs = Math.min(pauseMs * 2, limits.engine_restart_max_ms);
    });
    current = started;
  };
  const running = (): Instance['caller'] => {
    if (current === undefined) throw gone();
    return current.caller;
  };
  begin();
  return {
    async take(batch) {
      await running().call('take', batch);
      // A successful call means the start was fine: reset the backoff.
      pauseMs = limits.engine_restart_ms;
    },
    counts: () => counts,
    settled: async (ruleId) =>
      running()
        .call('settled', ruleId)
        .catch(() => false),
    async close() {
      ended = true;
      timer?.cancel();
      return current === undefined ? [] : current.caller.call('close', null);
    },
    async end() {
      ended = true;
      timer?.cancel();
      const last = current;
      current = undefined;
      await last?.caller.call('end', null).catch((error: unknown) => {
        log.warn('record thread did not close its files', { error: String(error) });
      });
      await last?.worker.terminate();
    },
  };
}
