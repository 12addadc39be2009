/**
 * Stores what ran (decisions §2.5): executions, the durable state of rules and the claims on points go to the runtime
 * database together, in one transaction a batch, a bounded number of rows at a time. What the disk does not take waits in a
 * bounded queue. On files it runs in a thread of its own (`record-thread.ts`), so that no tick waits for a disk.
 */
import { type Clock, type Timer, within } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { timeLabel } from '../base/timestamp.ts';
import { BoundedRows } from './bounded-rows.ts';
import type { HistoryRow, HistoryStore } from './history-store.ts';
import type { AutomationLimits } from './limits.ts';
import type { RuleLog } from './rule-log.ts';

/** What the engine hands over at once. */
export interface RecordBatch {
  readonly rows: readonly HistoryRow[];
  readonly states: readonly { readonly rule_id: number; readonly state: string }[];
  /** Rules that are gone: their state is removed; their history stays for as long as history is kept. */
  readonly gone: readonly number[];
  readonly claims: readonly { readonly point: string; readonly state: string }[];
}

export interface WriterCounts {
  readonly waiting: number;
  readonly dropped: number;
}

export interface RecordWriter {
  /** Takes a batch and begins to store it. */
  take(batch: RecordBatch): Promise<void>;
  /** What waits and what was lost, as far as that is known here. */
  counts(): WriterCounts;
  /** True when everything taken before the call is stored; false when storing failed. */
  flushed(): Promise<boolean>;
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

export interface RecordWriterParts {
  readonly store: HistoryStore;
  readonly ruleLog: RuleLog;
  readonly limits: AutomationLimits;
  readonly clock: Clock;
  readonly log: Log;
  /** Hears of the counts whenever they changed. */
  readonly onCounts?: (counts: WriterCounts) => void;
}

export function createRecordWriter(parts: RecordWriterParts): RecordWriter {
  return new StoringWriter(parts);
}

class StoringWriter implements RecordWriter {
  readonly #parts: RecordWriterParts;
  readonly #queue: BoundedRows;
  /** The newest of each, until it is stored. */
  readonly #states = new Map<number, string>();
  readonly #claims = new Map<string, string>();
  readonly #gone = new Set<number>();
  readonly #sincePruned = new Map<number, number>();
  #waiters: Waiter[] = [];
  #taken = 0;
  #timer: Timer | undefined;
  #pruneTimer: Timer | undefined;
  #running: Promise<void> | undefined;
  #closed = false;
  #givenUp = false;

  constructor(parts: RecordWriterParts) {
    this.#parts = parts;
    this.#queue = new BoundedRows(parts.limits);
    this.#schedulePrune(parts.limits.history_prune_interval_ms);
  }

  take({ rows, states, gone, claims }: RecordBatch): Promise<void> {
    for (const row of rows) {
      this.#parts.ruleLog.append(row.rule_id, row.record);
      this.#queue.push(row);
      this.#taken++;
    }
    for (const { rule_id: ruleId, state } of states) this.#states.set(ruleId, state);
    for (const { point, state } of claims) this.#claims.set(point, state);
    for (const ruleId of gone) {
      this.#gone.add(ruleId);
      this.#states.delete(ruleId);
      this.#sincePruned.delete(ruleId);
    }
    this.#schedule(0);
    this.#parts.onCounts?.(this.counts());
    return Promise.resolve();
  }

  counts(): WriterCounts {
    return { waiting: this.#queue.length, dropped: this.#queue.dropped + this.#parts.ruleLog.dropped() };
  }

  flushed(): Promise<boolean> {
    if (this.#isIdle() && this.#running === undefined) return Promise.resolve(true);
    return new Promise((resolve) => {
      this.#waiters.push({ upTo: this.#taken, settle: resolve });
      this.#timer?.cancel();
      this.#timer = undefined;
      this.#schedule(0);
    });
  }

  async close(): Promise<readonly HistoryRow[]> {
    const { clock, limits } = this.#parts;
    this.#closed = true;
    this.#timer?.cancel();
    this.#pruneTimer?.cancel();
    await within(clock, limits.engine_call_timeout_ms * storingShare, this.#storeAll());
    this.#givenUp = true;
    this.#settleWaiters(false);
    // With those that are being stored, if the store does not answer: it takes each only once. An answer after this finds none.
    return this.#queue.remove(this.#queue.length);
  }

  #isIdle(): boolean {
    return this.#waitingCount() === 0;
  }

  #waitingCount(): number {
    return this.#queue.length + this.#states.size + this.#gone.size + this.#claims.size;
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined || this.#running !== undefined || this.#closed) return;
    this.#timer = this.#parts.clock.after(delayMs, () => {
      this.#timer = undefined;
      void this.#flush();
    });
  }

  #settleWaiters(ok: boolean): void {
    const due = this.#waiters.filter((waiter) => !ok || waiter.upTo <= this.#queue.left);
    this.#waiters = this.#waiters.filter((waiter) => !due.includes(waiter));
    for (const waiter of due) waiter.settle(ok);
  }

  async #storeChunk(): Promise<void> {
    const { store, limits } = this.#parts;
    const count = limits.record_chunk_rows;
    const rows = this.#queue.head(count);
    const states = takenFrom(this.#states, count);
    const claims = takenFrom(this.#claims, count);
    const gone = [...this.#gone].slice(0, count);
    const before = this.#queue.left;
    try {
      await store.append({
        rows,
        states: states.map(([rule_id, state]) => ({ rule_id, state })),
        claims: claims.map(([point, state]) => ({ point, state })),
        gone,
      });
    } catch (error) {
      // What came meanwhile is newer.
      for (const [ruleId, state] of states)
        if (!this.#states.has(ruleId) && !this.#gone.has(ruleId)) this.#states.set(ruleId, state);
      for (const [point, state] of claims) if (!this.#claims.has(point)) this.#claims.set(point, state);
      throw error;
    }
    for (const ruleId of gone) this.#gone.delete(ruleId);
    // Rows that a full queue dropped meanwhile have left its head already.
    this.#queue.remove(Math.max(0, rows.length - (this.#queue.left - before)));
    for (const { rule_id: ruleId } of rows) this.#sincePruned.set(ruleId, (this.#sincePruned.get(ruleId) ?? 0) + 1);
  }

  /** As many as fit in the flush time, and none more while something waits to be stored: the rest at the next flush. */
  async #pruneCrowded(): Promise<void> {
    const { store, limits, clock } = this.#parts;
    const untilMs = clock.monotonicMs() + limits.record_flush_ms;
    for (const [ruleId, count] of this.#sincePruned) {
      if (count < limits.history_prune_every) continue;
      if (!this.#isIdle() || this.#waiters.length > 0 || clock.monotonicMs() >= untilMs) return;
      this.#sincePruned.set(ruleId, 0);
      await store.pruneRule(ruleId, limits.history_max_unchanged, limits.history_max_per_rule);
    }
  }

  async #flushOnce(): Promise<boolean> {
    try {
      await this.#storeChunk();
      this.#settleWaiters(true);
      await this.#pruneCrowded();
      return true;
    } catch (error) {
      this.#parts.log.error('executions could not be stored', { waiting: this.#queue.length, error: String(error) });
      this.#settleWaiters(false);
      return false;
    }
  }

  async #flush(): Promise<void> {
    const flushing = this.#flushOnce();
    this.#running = flushing.then(() => undefined);
    const ok = await flushing;
    this.#running = undefined;
    this.#parts.onCounts?.(this.counts());
    if (!this.#isIdle()) this.#schedule(ok ? 0 : this.#parts.limits.record_flush_ms);
  }

  /** The last that is stored: until nothing waits, the store takes nothing more or what waits is kept elsewhere. */
  async #storeAll(): Promise<void> {
    await this.#running;
    while (!this.#isIdle()) {
      if (this.#givenUp) return;
      const before = this.#waitingCount();
      await this.#flushOnce();
      // A store that takes nothing would keep a stop from ending.
      if (this.#waitingCount() >= before) return;
    }
  }

  /** Removes what is older than `history_days`, a chunk a turn, until nothing is left to remove. */
  async #pruneOld(): Promise<void> {
    const { store, limits, clock, log } = this.#parts;
    let full = false;
    try {
      const before = timeLabel(clock.wallMs() - limits.history_days * dayMs);
      full = (await store.pruneBefore(before, limits.record_chunk_rows)) >= limits.record_chunk_rows;
    } catch (error) {
      log.warn('old executions could not be removed', { error: String(error) });
    }
    if (!this.#closed) this.#schedulePrune(full ? limits.record_flush_ms : limits.history_prune_interval_ms);
  }

  #schedulePrune(delayMs: number): void {
    this.#pruneTimer = this.#parts.clock.after(delayMs, () => void this.#pruneOld());
  }
}

/** Takes the first entries out: what changes while they are stored is stored by the next batch. */
function takenFrom<K>(map: Map<K, string>, count: number): (readonly [K, string])[] {
  const entries = [...map.entries().take(count)];
  for (const [key] of entries) map.delete(key);
  return entries;
}
