/**
 * The rows that the engine hands over for storage [rules §7.5]: batches, not single runs, and never a wait. State that must
 * survive a crash (a cooldown, an anchor, a claim on a point) goes within `record_flush_ms`, a cooldown that begins at once; runs
 * that changed nothing and memories that grow with each run go every `state_flush_ms`, and the time of a rule's last run, if
 * nothing else changed, every `history_block_ms`, which spares the disk.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import { BoundedRows } from './bounded-rows.ts';
import type { AutomationLimits } from './limits.ts';
import { type RecordBatch, type RecordWriter, segmentKey } from './record-writer.ts';
import type { RunRow } from './run-blocks.ts';
import type { SegmentRow } from './store/authority-store.ts';

export interface RunRecorder {
  /** Takes one execution; its rule's state is asked for when it is handed over. */
  record(record: ExecutionRecord, unchanged: boolean): void;
  /** The state of these rules changed without a run: a reload edited them. */
  touch(ruleIds: readonly number[]): void;
  /** The rule is gone: its state is removed; its history stays for as long as history is kept. */
  forget(ruleIds: readonly number[]): void;
  /** A claim on a point (a priority hold, a write budget) must outlive a crash. */
  claimed(point: string, state: string): void;
  /** Who holds action points changed: a crash may set this account back by `state_flush_ms`. */
  owned(segments: readonly SegmentRow[]): void;
  /** True when every run of the rule that was recorded before the call is stored; false when storing failed. */
  settled(ruleId: number): Promise<boolean>;
  /** Flushes pending executions at once. */
  hurry(): void;
  waiting(): number;
  dropped(): number;
  /** Stores pending executions until the deadline; returns those that could not be stored. */
  close(): Promise<readonly RunRow[]>;
}

export interface RunRecorderParts {
  readonly writer: RecordWriter;
  readonly limits: AutomationLimits;
  readonly clock: Clock;
  readonly log: Log;
  /** The rule's durable state as JSON text, or null when the rule is not loaded any more. */
  readonly stateOf: (ruleId: number) => string | null;
  /** Whether the rule has memories that each run may change (windows, sums). */
  readonly remembers: (ruleId: number) => boolean;
  /** The part of its state that must be stored at once when it changes. */
  readonly urgentStateOf: (ruleId: number) => string;
}

/** States of one batch: what is written in one turn of the tick thread is bounded in bytes too. */
const stateBytesMaximum = 262_144;

export function createRunRecorder(parts: RunRecorderParts): RunRecorder {
  return new BatchingRecorder(parts);
}

class BatchingRecorder implements RunRecorder {
  readonly #parts: RunRecorderParts;
  /** Runs that changed something, and runs that can wait. */
  readonly #rows: BoundedRows;
  readonly #unchanged: BoundedRows;
  readonly #touched = new Set<number>();
  /** Rules of which only memories changed that a crash may set back by `state_flush_ms`. */
  readonly #grown = new Set<number>();
  /** Rules without memories of their own: of their state only when they last ran changes. */
  readonly #seen = new Set<number>();
  #seenSinceMs = 0;
  readonly #urgent = new Map<number, string>();
  readonly #gone = new Set<number>();
  readonly #claims = new Map<string, string>();
  /** The newest form of each segment, and whether it may be handed over. */
  readonly #segments = new Map<string, SegmentRow>();
  #segmentsRipe = false;
  #timer: Timer | undefined;
  #slowTimer: Timer | undefined;
  #handingOver: Promise<boolean> | undefined;
  #again = false;
  /** The last batch was not accepted: that is logged once. */
  #refused = false;
  #closed = false;

  constructor(parts: RunRecorderParts) {
    this.#parts = parts;
    this.#rows = new BoundedRows(parts.limits);
    this.#unchanged = new BoundedRows(parts.limits);
  }

  record(record: ExecutionRecord, unchanged: boolean): void {
    const { limits, urgentStateOf } = this.#parts;
    const { execution_id, rule_id } = record;
    const row = { execution_id, rule_id, unchanged, record: JSON.stringify(record) };
    (unchanged ? this.#unchanged : this.#rows).push(row);
    const urgent = urgentStateOf(rule_id);
    if (this.#urgent.get(rule_id) === urgent) {
      if (this.#parts.remembers(rule_id)) this.#grown.add(rule_id);
      else this.#see(rule_id);
      this.#scheduleSlow();
    } else {
      this.#urgent.set(rule_id, urgent);
      this.#touched.add(rule_id);
    }
    if (!unchanged || this.#touched.has(rule_id)) this.#schedule(limits.record_flush_ms);
    // Many runs that changed nothing are handed over before they fill the memory.
    else if (this.#unchanged.length >= limits.record_chunk_rows) this.#ripen();
  }

  #see(ruleId: number): void {
    if (this.#seen.size === 0) this.#seenSinceMs = this.#parts.clock.monotonicMs();
    this.#seen.add(ruleId);
  }

  touch(ruleIds: readonly number[]): void {
    for (const ruleId of ruleIds) this.#touched.add(ruleId);
    if (ruleIds.length > 0) this.#schedule(this.#parts.limits.record_flush_ms);
  }

  forget(ruleIds: readonly number[]): void {
    for (const ruleId of ruleIds) {
      this.#gone.add(ruleId);
      this.#touched.delete(ruleId);
      this.#grown.delete(ruleId);
      this.#seen.delete(ruleId);
      this.#urgent.delete(ruleId);
    }
    if (ruleIds.length > 0) this.#schedule(this.#parts.limits.record_flush_ms);
  }

  claimed(point: string, state: string): void {
    this.#claims.set(point, state);
    this.hurry();
  }

  owned(segments: readonly SegmentRow[]): void {
    for (const segment of segments) this.#segments.set(segmentKey(segment), segment);
    if (segments.length > 0) this.#scheduleSlow();
  }

  async settled(ruleId: number): Promise<boolean> {
    for (const row of this.#unchanged.remove(this.#unchanged.length)) this.#rows.push(row);
    const upTo = this.#rows.left + this.#rows.length;
    while (this.#rows.left < upTo) if (!(await this.#handOver())) return false;
    return this.#parts.writer.settled(ruleId);
  }

  hurry(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#schedule(0);
  }

  waiting(): number {
    return this.#rows.length + this.#unchanged.length + this.#parts.writer.counts().waiting;
  }

  dropped(): number {
    return this.#rows.dropped + this.#unchanged.dropped + this.#parts.writer.counts().dropped;
  }

  async close(): Promise<readonly RunRow[]> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#slowTimer?.cancel();
    this.#ripen();
    while (!this.#isIdle()) if (!(await this.#handOver())) break;
    const left = await this.#parts.writer.close();
    return [...left, ...this.#rows.remove(this.#rows.length), ...this.#unchanged.remove(this.#unchanged.length)];
  }

  #isIdle(): boolean {
    const segments = this.#segmentsRipe ? this.#segments.size : 0;
    return this.#rows.length + this.#touched.size + this.#gone.size + this.#claims.size + segments === 0;
  }

  /** Rows that could wait are due now. */
  #ripen(): void {
    this.#slowTimer?.cancel();
    this.#slowTimer = undefined;
    for (const row of this.#unchanged.remove(this.#unchanged.length)) this.#rows.push(row);
    for (const ruleId of this.#grown) this.#touched.add(ruleId);
    this.#grown.clear();
    this.#segmentsRipe = true;
    const { clock, limits } = this.#parts;
    if (this.#closed || clock.monotonicMs() - this.#seenSinceMs >= limits.history_block_ms) {
      for (const ruleId of this.#seen) this.#touched.add(ruleId);
      this.#seen.clear();
    }
    if (!this.#isIdle()) this.hurry();
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined || this.#closed) return;
    this.#timer = this.#parts.clock.after(delayMs, () => {
      this.#timer = undefined;
      void this.#handOver();
    });
  }

  #scheduleSlow(): void {
    if (this.#slowTimer !== undefined || this.#closed) return;
    this.#slowTimer = this.#parts.clock.after(this.#parts.limits.state_flush_ms, () => this.#ripen());
  }

  /** One batch at a time: rows that the writer has not accepted wait here, bounded. False if it was not accepted. */
  #handOver(): Promise<boolean> {
    if (this.#handingOver !== undefined) {
      this.#again = true;
      return this.#handingOver;
    }
    this.#handingOver = this.#handOverOnce().finally(() => {
      this.#handingOver = undefined;
      if (!this.#isIdle()) this.#schedule(this.#again || this.#isFull() ? 0 : this.#parts.limits.record_flush_ms);
      this.#again = false;
    });
    return this.#handingOver;
  }

  #isFull(): boolean {
    return this.#rows.length >= this.#parts.limits.record_chunk_rows;
  }

  async #handOverOnce(): Promise<boolean> {
    const batch = this.#batch();
    const before = this.#rows.left;
    try {
      await this.#parts.writer.take(batch);
    } catch (error) {
      if (!this.#refused)
        this.#parts.log.error('cannot hand over executions', { waiting: this.waiting(), error: String(error) });
      this.#refused = true;
      // The newest state of each goes with the next batch.
      for (const { rule_id: ruleId } of batch.states) if (!this.#gone.has(ruleId)) this.#touched.add(ruleId);
      for (const ruleId of batch.gone) this.#gone.add(ruleId);
      for (const { point, state } of batch.claims) if (!this.#claims.has(point)) this.#claims.set(point, state);
      for (const segment of batch.segments)
        if (!this.#segments.has(segmentKey(segment))) this.#segments.set(segmentKey(segment), segment);
      this.#segmentsRipe ||= batch.segments.length > 0;
      return false;
    }
    this.#refused = false;
    this.#rows.remove(Math.max(0, batch.rows.length - (this.#rows.left - before)));
    return true;
  }

  #batch(): RecordBatch {
    const { limits, stateOf } = this.#parts;
    const states: { rule_id: number; state: string }[] = [];
    let bytes = 0;
    for (const ruleId of this.#touched) {
      if (states.length >= limits.record_chunk_rows || bytes >= stateBytesMaximum) break;
      this.#touched.delete(ruleId);
      this.#grown.delete(ruleId);
      this.#seen.delete(ruleId);
      const state = stateOf(ruleId);
      if (state === null) continue;
      states.push({ rule_id: ruleId, state });
      bytes += state.length;
    }
    const gone = [...this.#gone].slice(0, limits.record_chunk_rows);
    for (const ruleId of gone) this.#gone.delete(ruleId);
    const claims = [...this.#claims].slice(0, limits.record_chunk_rows).map(([point, state]) => ({ point, state }));
    for (const { point } of claims) this.#claims.delete(point);
    const segments = this.#segmentsRipe ? [...this.#segments.values()].slice(0, limits.record_chunk_rows) : [];
    for (const segment of segments) this.#segments.delete(segmentKey(segment));
    if (this.#segments.size === 0) this.#segmentsRipe = false;
    return { rows: this.#rows.head(limits.record_chunk_rows), states, gone, claims, segments };
  }
}
