/**
 * Stores what ran (decisions §2.5): execution records and the durable state of the rules that ran go to the runtime
 * database together, in one transaction at most every `record_flush_ms`, a bounded number of rows at a time. One
 * writer: the engine. What the disk does not take waits in a bounded queue; beyond it the oldest is dropped, counted.
 */
import { type Clock, type Timer, within } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import type { HistoryRow, HistoryStore, StateRow } from './history-store.ts';
import type { AutomationLimits } from './limits.ts';
import type { RuleLog } from './rule-log.ts';

export interface Recorder {
  /** Takes one execution; its rule's state is asked for (by `stateOf`) when it is stored. */
  record(record: ExecutionRecord, unchanged: boolean): void;
  /** The state of these rules changed without a run: a reload edited them. */
  touch(ruleIds: readonly number[]): void;
  /** The rule is gone: its state is removed; its history stays for as long as history is kept. */
  forget(ruleIds: readonly number[]): void;
  /** True when everything recorded before the call is stored; false when storing failed. */
  flushed(): Promise<boolean>;
  /** Stores what waits without waiting for more. */
  hurry(): void;
  waiting(): number;
  dropped(): number;
  /** Stores what waits, for as long as there is time; returns the executions that the store did not take. */
  close(): Promise<readonly HistoryRow[]>;
}

const dayMs = 86_400_000;
/** Of the time that an engine has to end (`engine_call_timeout_ms`): it must answer what is not stored then. */
const storingShare = 0.5;

interface Waiter {
  readonly upTo: number;
  readonly settle: (stored: boolean) => void;
}

export interface RecorderParts {
  readonly store: HistoryStore;
  readonly ruleLog: RuleLog;
  readonly limits: AutomationLimits;
  readonly clock: Clock;
  readonly log: Log;
  /** The rule's durable state as JSON text, or null when the rule is not loaded any more. */
  readonly stateOf: (ruleId: number) => string | null;
}

export function createRecorder(parts: RecorderParts): Recorder {
  const { store, ruleLog, limits, clock, log, stateOf } = parts;
  let queue: HistoryRow[] = [];
  const touched = new Set<number>();
  const forgotten = new Set<number>();
  let waiters: Waiter[] = [];
  let taken = 0;
  let stored = 0;
  let droppedRows = 0;
  let timer: Timer | undefined;
  let running: Promise<void> | undefined;
  let hurried = false;
  let closed = false;
  let givenUp = false;
  const sincePruned = new Map<number, number>();

  const schedule = (delayMs: number): void => {
    if (timer !== undefined || running !== undefined || closed) return;
    timer = clock.after(delayMs, () => {
      timer = undefined;
      void flush();
    });
  };
  const idle = (): boolean => queue.length === 0 && touched.size === 0 && forgotten.size === 0;

  const settleWaiters = (ok: boolean): void => {
    const due = waiters.filter((waiter) => !ok || waiter.upTo <= stored);
    waiters = waiters.filter((waiter) => !due.includes(waiter));
    for (const waiter of due) waiter.settle(ok);
  };

  const storeChunk = async (): Promise<void> => {
    const rows = queue.slice(0, limits.record_chunk_rows);
    const stateIds = [...touched].slice(0, limits.record_chunk_rows);
    const gone = [...forgotten].slice(0, limits.record_chunk_rows);
    const states: StateRow[] = [];
    for (const ruleId of stateIds) {
      const state = stateOf(ruleId);
      if (state !== null) states.push({ rule_id: ruleId, state });
    }
    // Taken out before the write: what changes during it is written by the next one.
    for (const ruleId of stateIds) touched.delete(ruleId);
    const first = stored;
    try {
      await store.append(rows, states, gone);
    } catch (error) {
      for (const ruleId of stateIds) touched.add(ruleId);
      throw error;
    }
    for (const ruleId of gone) forgotten.delete(ruleId);
    // Rows that a full queue dropped meanwhile have left its head already and count as done.
    queue.splice(0, Math.max(0, rows.length - (stored - first)));
    stored = Math.max(stored, first + rows.length);
    for (const row of rows) sincePruned.set(row.rule_id, (sincePruned.get(row.rule_id) ?? 0) + 1);
  };

  /** As many as fit in the flush time, and none more while somebody waits for what is to be stored: the rest at the next flush. */
  const pruneCrowded = async (): Promise<void> => {
    const untilMs = clock.monotonicMs() + limits.record_flush_ms;
    for (const [ruleId, count] of sincePruned) {
      if (count < limits.history_prune_every) continue;
      if (hurried || waiters.length > 0 || clock.monotonicMs() >= untilMs) return;
      sincePruned.set(ruleId, 0);
      await store.pruneRule(ruleId, limits.history_max_unchanged, limits.history_max_per_rule);
    }
  };

  const flushOnce = async (): Promise<void> => {
    try {
      await storeChunk();
      settleWaiters(true);
      await pruneCrowded();
    } catch (error) {
      log.error('executions could not be stored', { waiting: queue.length, error: String(error) });
      settleWaiters(false);
    }
  };
  const flush = async (): Promise<void> => {
    if (running !== undefined) return running;
    timer?.cancel();
    timer = undefined;
    running = flushOnce();
    await running;
    running = undefined;
    const urgent = hurried || waiters.length > 0 || queue.length >= limits.record_chunk_rows;
    hurried = false;
    if (!idle()) schedule(urgent ? 0 : limits.record_flush_ms);
  };

  const hurry = (): void => {
    timer?.cancel();
    timer = undefined;
    hurried = running !== undefined;
    schedule(0);
  };

  /** The last that is stored: until nothing waits, the store takes nothing more or what waits is kept elsewhere. */
  const storeAll = async (): Promise<void> => {
    await running;
    while (!idle()) {
      if (givenUp) return;
      const before = queue.length + touched.size + forgotten.size;
      await flushOnce();
      // A store that takes nothing would keep a stop from ending.
      if (queue.length + touched.size + forgotten.size >= before) return;
    }
  };

  /** Removes what is older than `history_days`, a chunk a turn, until nothing is left to remove. */
  const pruneOld = async (): Promise<void> => {
    let full = false;
    try {
      const before = new Date(clock.wallMs() - limits.history_days * dayMs).toISOString();
      full = (await store.pruneBefore(before, limits.record_chunk_rows)) >= limits.record_chunk_rows;
    } catch (error) {
      log.warn('old executions could not be removed', { error: String(error) });
    }
    if (!closed) schedulePrune(full ? limits.record_flush_ms : limits.history_prune_interval_ms);
  };
  const schedulePrune = (delayMs: number): void => {
    pruneTimer = clock.after(delayMs, () => void pruneOld());
  };
  let pruneTimer: Timer | undefined;
  schedulePrune(limits.history_prune_interval_ms);

  return {
    record(record, unchanged) {
      const text = JSON.stringify(record);
      ruleLog.append(record, text);
      if (queue.length >= limits.record_queue) {
        queue.shift();
        stored++;
        droppedRows++;
      }
      queue.push({
        execution_id: record.execution_id,
        rule_id: record.rule_id,
        started_at: record.started_at,
        outcome: record.outcome,
        unchanged,
        record: text,
      });
      taken++;
      touched.add(record.rule_id);
      schedule(limits.record_flush_ms);
    },
    touch(ruleIds) {
      for (const ruleId of ruleIds) touched.add(ruleId);
      if (ruleIds.length > 0) schedule(limits.record_flush_ms);
    },
    forget(ruleIds) {
      for (const ruleId of ruleIds) {
        forgotten.add(ruleId);
        touched.delete(ruleId);
        sincePruned.delete(ruleId);
      }
      if (ruleIds.length > 0) schedule(limits.record_flush_ms);
    },
    flushed() {
      if (stored >= taken) return Promise.resolve(true);
      return new Promise((resolve) => {
        waiters.push({ upTo: taken, settle: resolve });
        hurry();
      });
    },
    hurry,
    waiting: () => queue.length,
    dropped: () => droppedRows + ruleLog.dropped(),
    async close() {
      closed = true;
      timer?.cancel();
      pruneTimer?.cancel();
      await within(clock, limits.engine_call_timeout_ms * storingShare, storeAll());
      givenUp = true;
      settleWaiters(false);
      // With those that are being stored, if the store does not answer: it takes each only once. An answer after this finds none.
      return queue.splice(0);
    },
  };
}
