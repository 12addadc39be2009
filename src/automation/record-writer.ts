/**
 * Stores runs [rules §7.5]. The durable state of rules and the claims on points are written to the runtime database at once. Executions
 * wait for more runs of their rule, which reduces writes, and are in a journal in the meantime. Rows that the disk does not accept
 * wait in a bounded queue. On files all this happens in a separate thread (`record-thread.ts`), so that no tick waits for a
 * disk.
 */
import { type Clock, type Timer, withTimeout } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { dayMs } from '../base/timestamp.ts';
import type { RetentionTime } from '../storage/retention-clock.ts';
import type { RowJournal } from '../storage/row-journal.ts';
import type { AutomationLimits } from './limits.ts';
import type { RuleLog } from './rule-log.ts';
import type { RunRow } from './run-blocks.ts';
import type { SegmentRow } from './store/authority-store.ts';
import type { RunStore } from './store/run-store.ts';
import { WaitingRuns } from './waiting-runs.ts';

/** Rows that the engine hands over at once. */
export interface RecordBatch {
  readonly rows: readonly RunRow[];
  readonly states: readonly { readonly rule_id: number; readonly state: string }[];
  /** Removed rules: their state is deleted; their history stays until retention removes it. */
  readonly gone: readonly number[];
  readonly claims: readonly { readonly point: string; readonly state: string }[];
  readonly segments: readonly SegmentRow[];
}

export interface WriterCounts {
  readonly waiting: number;
  readonly dropped: number;
}

export interface RecordWriter {
  /** Accepts a batch and starts to store it. */
  take(batch: RecordBatch): Promise<void>;
  /** Numbers of pending and lost executions, as far as known here. */
  counts(): WriterCounts;
  /** True if every run of the rule accepted before the call is stored; false if storing failed. */
  settled(ruleId: number): Promise<boolean>;
  /** Stores pending executions until the deadline; returns those that are neither in the store nor in the journal. */
  close(): Promise<readonly RunRow[]>;
}

/** Share of the engine's shutdown time (`engine_call_timeout_ms`): it must then return the unstored rows. */
const storingShare = 0.5;

interface Waiter {
  readonly ruleId: number;
  readonly upTo: number;
  readonly settle: (stored: boolean) => void;
}

export interface RecordWriterParts {
  readonly store: RunStore;
  readonly ruleLog: RuleLog;
  readonly journal: RowJournal<RunRow>;
  /** How long a run waits for more runs of its rule, in milliseconds: `history_block_ms`, or 0 with a server. */
  readonly blockMs: number;
  readonly limits: AutomationLimits;
  readonly retention: RetentionTime;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each change of the counts. */
  readonly onCounts?: (counts: WriterCounts) => void;
}

export function createRecordWriter(parts: RecordWriterParts): RecordWriter {
  return new StoringWriter(parts);
}

class StoringWriter implements RecordWriter {
  readonly #parts: RecordWriterParts;
  readonly #runs: WaitingRuns;
  /** The newest of each, until it is stored. */
  readonly #states = new Map<number, string>();
  readonly #claims = new Map<string, string>();
  /** By point and start, the newest version of each. */
  readonly #segments = new Map<string, SegmentRow>();
  readonly #gone = new Set<number>();
  readonly #sincePruned = new Map<number, number>();
  #waiters: Waiter[] = [];
  #timer: Timer | undefined;
  /** When the timer is due. */
  #dueMs = 0;
  #pruneTimer: Timer | undefined;
  #running: Promise<void> | undefined;
  #closed = false;
  #givenUp = false;
  /** The store rejected rows, and the journal a write: each is logged once. */
  #failing = false;
  #unkept = false;
  /** The journal of the previous process has been stored. */
  #recovered = false;

  constructor(parts: RecordWriterParts) {
    this.#parts = parts;
    this.#runs = new WaitingRuns(parts.limits, parts.blockMs);
    this.#schedule(0);
    this.#schedulePrune(parts.limits.history_prune_interval_ms);
  }

  take({ rows, states, gone, claims, segments }: RecordBatch): Promise<void> {
    const { ruleLog, clock } = this.#parts;
    const isKept = this.#keep(rows);
    for (const row of rows) {
      ruleLog.append(row.rule_id, row.record);
      this.#runs.push(row, clock.monotonicMs(), isKept);
    }
    // A run that the journal rejected is stored as soon as the database accepts it.
    if (!isKept) this.#runs.ask();
    for (const { rule_id: ruleId, state } of states) this.#states.set(ruleId, state);
    for (const { point, state } of claims) this.#claims.set(point, state);
    for (const segment of segments) this.#segments.set(segmentKey(segment), segment);
    for (const ruleId of gone) {
      this.#gone.add(ruleId);
      this.#states.delete(ruleId);
      this.#sincePruned.delete(ruleId);
    }
    this.#scheduleNext();
    this.#parts.onCounts?.(this.counts());
    return Promise.resolve();
  }

  counts(): WriterCounts {
    return { waiting: this.#runs.length, dropped: this.#runs.dropped + this.#parts.ruleLog.dropped() };
  }

  settled(ruleId: number): Promise<boolean> {
    const upTo = this.#runs.last;
    if (this.#recovered && !this.#runs.holds(ruleId, upTo)) return Promise.resolve(true);
    this.#runs.ask(ruleId);
    return new Promise((resolve) => {
      this.#waiters.push({ ruleId, upTo, settle: resolve });
      this.#schedule(0);
    });
  }

  async close(): Promise<readonly RunRow[]> {
    const { clock, limits } = this.#parts;
    this.#closed = true;
    this.#runs.ask();
    this.#timer?.cancel();
    this.#pruneTimer?.cancel();
    await withTimeout(clock, limits.engine_call_timeout_ms * storingShare, this.#storeAll());
    this.#givenUp = true;
    this.#settleWaiters(false);
    // Includes rows that are being stored, in case the store does not answer: it accepts each only once. A later answer finds none.
    return this.#runs.remove();
  }

  /** Nothing is due to be stored. */
  #isIdle(): boolean {
    return this.#recovered && this.#stateCount() === 0 && this.#runs.dueIn(this.#parts.clock.monotonicMs()) !== 0;
  }

  #stateCount(): number {
    return this.#states.size + this.#gone.size + this.#claims.size + this.#segments.size;
  }

  #keep(rows: readonly RunRow[]): boolean {
    try {
      const isKept = this.#parts.journal.append(rows, this.#runs.last + rows.length);
      this.#unkept = false;
      return isKept;
    } catch (error) {
      if (!this.#unkept) this.#parts.log.error('cannot write the execution journal', { error: String(error) });
      this.#unkept = true;
      return false;
    }
  }

  #scheduleNext(): void {
    if (!this.#isIdle()) return this.#schedule(0);
    const dueMs = this.#runs.dueIn(this.#parts.clock.monotonicMs());
    if (dueMs !== null) this.#schedule(dueMs);
  }

  /** At the latest then. */
  #schedule(delayMs: number): void {
    if (this.#running !== undefined || this.#closed) return;
    const { clock } = this.#parts;
    const dueMs = clock.monotonicMs() + delayMs;
    if (this.#timer !== undefined && this.#dueMs <= dueMs) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    this.#timer = clock.after(delayMs, () => {
      this.#timer = undefined;
      void this.#flush();
    });
  }

  #settleWaiters(ok: boolean): void {
    const due = this.#waiters.filter(({ ruleId, upTo }) => !ok || (this.#recovered && !this.#runs.holds(ruleId, upTo)));
    this.#waiters = this.#waiters.filter((waiter) => !due.includes(waiter));
    for (const waiter of due) waiter.settle(ok);
  }

  /** Rows that the previous process had accepted and perhaps not stored. */
  async #recover(): Promise<void> {
    if (this.#recovered) return;
    const { journal, store, limits, log } = this.#parts;
    let rows: readonly RunRow[];
    try {
      rows = journal.left();
    } catch (error) {
      // It stays in place, for the next start.
      log.error('cannot read the execution journal', { error: String(error) });
      this.#recovered = true;
      return;
    }
    for (let from = 0; from < rows.length; from += limits.record_chunk_rows)
      await store.restore(rows.slice(from, from + limits.record_chunk_rows));
    if (rows.length > 0) log.info('journaled executions stored', { executions: rows.length });
    journal.forget();
    this.#recovered = true;
  }

  async #storeChunk(): Promise<void> {
    const { store, limits, clock, journal } = this.#parts;
    const count = limits.record_chunk_rows;
    const rows = this.#runs.take(clock.monotonicMs(), count);
    const states = takenFrom(this.#states, count);
    const claims = takenFrom(this.#claims, count);
    const segments = takenFrom(this.#segments, count);
    const gone = [...this.#gone].slice(0, count);
    if (rows.length + states.length + claims.length + segments.length + gone.length === 0) return;
    try {
      await store.append({
        rows,
        states: states.map(([rule_id, state]) => ({ rule_id, state })),
        claims: claims.map(([point, state]) => ({ point, state })),
        segments: segments.map(([, segment]) => segment),
        gone,
      });
    } catch (error) {
      this.#runs.putBack(clock.monotonicMs());
      // States that arrived in the meantime are newer.
      for (const [ruleId, state] of states)
        if (!this.#states.has(ruleId) && !this.#gone.has(ruleId)) this.#states.set(ruleId, state);
      for (const [point, state] of claims) if (!this.#claims.has(point)) this.#claims.set(point, state);
      for (const [key, segment] of segments) if (!this.#segments.has(key)) this.#segments.set(key, segment);
      throw error;
    }
    for (const ruleId of gone) this.#gone.delete(ruleId);
    this.#runs.stored();
    // After a close that timed out, runs are no longer here and may be only in the journal.
    if (!this.#givenUp) journal.stored(this.#runs.settled);
    for (const { rule_id: ruleId } of rows) this.#sincePruned.set(ruleId, (this.#sincePruned.get(ruleId) ?? 0) + 1);
  }

  /** As many as fit into the flush time, and none while others wait to be stored: the rest at the next flush. */
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
      await this.#recover();
      await this.#storeChunk();
      this.#settleWaiters(true);
      await this.#pruneCrowded();
      if (this.#failing) this.#parts.log.info('executions are being stored again', { waiting: this.#runs.length });
      this.#failing = false;
      return true;
    } catch (error) {
      const reason = error instanceof Fault && error.cause instanceof Error ? error.cause.message : String(error);
      const facts = { waiting: this.#runs.length, error: reason };
      if (!this.#failing) this.#parts.log.error('cannot store executions; retrying', facts);
      this.#failing = true;
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
    if (ok) this.#scheduleNext();
    else this.#schedule(this.#parts.limits.record_flush_ms);
  }

  /** The final flush: ends when nothing is pending, the store fails, or the rest is in the journal. */
  async #storeAll(): Promise<void> {
    await this.#running;
    while (!this.#isIdle()) {
      if (this.#givenUp) return;
      // A store that accepts nothing would keep a shutdown from ending.
      if (!(await this.#flushOnce())) return;
    }
  }

  /** Deletes rows older than `history_days`, one chunk per turn, until none is left. */
  async #pruneOld(): Promise<void> {
    const { store, limits, retention, log } = this.#parts;
    let full = false;
    try {
      const before = retention.nowMs() - limits.history_days * dayMs;
      const owned = retention.nowMs() - limits.ownership_days * dayMs;
      const rows = limits.record_chunk_rows;
      const removed = [await store.pruneBefore(before, rows), await store.pruneSegments(owned, rows)];
      full = removed.some((count) => count >= rows);
    } catch (error) {
      log.warn('cannot remove old executions', { error: String(error) });
    }
    if (!this.#closed) this.#schedulePrune(full ? limits.record_flush_ms : limits.history_prune_interval_ms);
  }

  #schedulePrune(delayMs: number): void {
    this.#pruneTimer = this.#parts.clock.after(delayMs, () => void this.#pruneOld());
  }
}

/** Removes the first entries: changes during the store belong to the next batch. */
function takenFrom<K, V>(map: Map<K, V>, count: number): (readonly [K, V])[] {
  const entries = [...map.entries().take(count)];
  for (const [key] of entries) map.delete(key);
  return entries;
}

export function segmentKey({ point, from_ms: fromMs }: SegmentRow): string {
  return `${point}@${fromMs}`;
}
