/**
 * Creates the writer of the engine's records: in the same thread for a server, in a separate thread for files on the disk of
 * this machine. The tick thread waits for neither [rules §6.3].
 */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log, LogLevel } from '../base/log.ts';
import { type Caller, callThread, threadMemory } from '../base/thread.ts';
import type { Grant } from '../rules/authority.ts';
import type { DatabasePlace } from '../storage/database.ts';
import { type RetentionCell, retentionOf } from '../storage/retention-clock.ts';
import { journalFiles, journalFolder, noJournal, openJournal } from '../storage/row-journal.ts';
import type { AutomationLimits } from './limits.ts';
import { isRunRow } from './record-spool.ts';
import { createRecordWriter, type RecordBatch, type RecordWriter, type WriterCounts } from './record-writer.ts';
import { createRuleLog } from './rule-log.ts';
import type { RunRow } from './run-blocks.ts';
import { type AuthorityStore, createAuthorityStore } from './store/authority-store.ts';
import { createRunStore } from './store/run-store.ts';
import type { RuntimeDatabase } from './store/runtime-database.ts';

export interface OpenRecordWriter extends RecordWriter, AuthorityStore {
  /** Closes the files. The last call. */
  end(): Promise<void>;
}

export interface WriterSetup {
  readonly dataFolder: string;
  readonly retention: RetentionCell;
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
  const store = createRunStore(database);
  const authority = createAuthorityStore(database);
  const told = onCounts === undefined ? {} : { onCounts };
  // A server stores data for other machines at once, and its disk is not a gateway's flash.
  const waits = typeof setup.database === 'string';
  const folder = journalFolder(setup.dataFolder, 'runs');
  const journal = waits ? openJournal({ folder, isRow: isRunRow, sync: database.sync }) : noJournal;
  const blockMs = waits ? setup.limits.history_block_ms : 0;
  const writer = createRecordWriter({
    store,
    ruleLog,
    journal,
    blockMs,
    limits: setup.limits,
    retention: retentionOf(setup.retention),
    clock,
    log,
    ...told,
  });
  return {
    take: (batch) => writer.take(batch),
    counts: () => writer.counts(),
    settled: (ruleId) => writer.settled(ruleId),
    close: () => writer.close(),
    put: authority.put,
    remove: authority.remove,
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
  readonly put: (change: { readonly grant: Grant; readonly gone: readonly string[] }) => null;
  readonly remove: (ids: readonly string[]) => null;
  readonly close: (question: null) => readonly RunRow[];
  readonly end: (question: null) => null;
};

interface Instance {
  readonly caller: Caller<WriterMethods, WriterCounts>;
  readonly worker: Worker;
}

/**
 * In a separate thread, which is restarted if it dies; the engine keeps rows that the thread has not accepted. If no runs
 * are stored, the thread starts with the first call that needs it, which saves 17 MB on a site without rules.
 */
export function openRecordThread(data: WriterWorkerData, isStored: boolean, clock: Clock, log: Log): OpenRecordWriter {
  return new RecordThread(
    data,
    isStored || journalFiles(journalFolder(data.dataFolder, 'runs')).length > 0,
    clock,
    log,
  );
}

class RecordThread implements OpenRecordWriter {
  readonly #data: WriterWorkerData;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits;
  #current: Instance | undefined;
  #timer: Timer | undefined;
  #pauseMs;
  #begun = false;
  #ended = false;
  #counts: WriterCounts = { waiting: 0, dropped: 0 };

  constructor(data: WriterWorkerData, beginsNow: boolean, clock: Clock, log: Log) {
    this.#data = data;
    this.#clock = clock;
    this.#log = log;
    const { limits } = data;
    this.#limits = limits;
    this.#pauseMs = this.#limits.engine_restart_ms;
    if (beginsNow) this.#begin();
  }

  async take(batch: RecordBatch): Promise<void> {
    await this.#running().call('take', batch);
    // A successful call means the start was fine: reset the backoff.
    this.#pauseMs = this.#limits.engine_restart_ms;
  }

  counts() {
    return this.#counts;
  }

  async settled(ruleId: number): Promise<boolean> {
    if (!this.#begun) return true;
    return this.#running()
      .call('settled', ruleId)
      .catch(() => false);
  }

  async put(grant: Grant, gone: readonly string[]): Promise<void> {
    await this.#running().call('put', { grant, gone });
  }

  async remove(ids: readonly string[]): Promise<void> {
    await this.#running().call('remove', ids);
  }

  async close() {
    this.#ended = true;
    this.#timer?.cancel();
    return this.#current === undefined ? [] : this.#current.caller.call('close', null);
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#timer?.cancel();
    const last = this.#current;
    this.#current = undefined;
    await last?.caller.call('end', null).catch((error: unknown) => {
      this.#log.warn('record thread did not close its files', { error: String(error) });
    });
    await last?.worker.terminate();
  }

  #gone(): Fault {
    return new Fault('storage-unavailable', 'executions are not being stored now');
  }

  readonly #begin = (): void => {
    this.#begun = true;
    const worker = new Worker(new URL('./record-thread.ts', import.meta.url), {
      workerData: this.#data,
      name: 'records',
      resourceLimits: threadMemory,
    });
    const caller: Instance['caller'] = callThread(worker, this.#clock, this.#limits.engine_call_timeout_ms);
    const started = { caller, worker };
    caller.onEvent((told) => void (this.#counts = told));
    let reason = 'the thread ended';
    worker.on('error', (error) => {
      reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    worker.on('exit', () => {
      caller.close(this.#gone());
      if (this.#current !== started || this.#ended) return;
      this.#current = undefined;
      this.#log.error('record thread failed; restarting it', { reason, pauseMs: this.#pauseMs });
      this.#timer = this.#clock.after(this.#pauseMs, this.#begin);
      this.#pauseMs = Math.min(this.#pauseMs * 2, this.#limits.engine_restart_max_ms);
    });
    this.#current = started;
  };

  #running(): Instance['caller'] {
    if (!this.#begun && !this.#ended) this.#begin();
    if (this.#current === undefined) throw this.#gone();
    return this.#current.caller;
  }
}
