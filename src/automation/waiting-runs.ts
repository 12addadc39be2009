/**
 * Runs waiting to be stored together, by rule and kind: until the oldest of them has waited for `history_block_ms`, a block is
 * full, or a reader needs them. Limited in number and bytes: from half of either on, nothing waits any longer; beyond it the
 * oldest is dropped and counted.
 */
import { Fifo } from '../base/fifo.ts';
import type { RowLimits } from './bounded-rows.ts';
import { blockRunsMaximum, type RunRow } from './run-blocks.ts';

interface Numbered {
  readonly row: RunRow;
  /** In order of taking, from 1. */
  readonly number: number;
  /** It is in the journal and survives this process. */
  readonly isKept: boolean;
}

interface Bundle {
  readonly rows: Fifo<Numbered>;
  readonly ruleId: number;
  readonly sinceMs: number;
  /** Due now. */
  isAsked: boolean;
}

export class WaitingRuns {
  readonly #limits: RowLimits;
  readonly #blockMs: number;
  /** The one that has waited longest is first. */
  readonly #bundles = new Map<string, Bundle>();
  #storing: readonly Numbered[] = [];
  #waiting = 0;
  #bytes = 0;
  #dropped = 0;
  #last = 0;

  constructor(limits: RowLimits, blockMs: number) {
    this.#limits = limits;
    this.#blockMs = blockMs;
  }

  push(row: RunRow, nowMs: number, isKept = false): void {
    this.#add({ row, number: ++this.#last, isKept }, nowMs);
    const { record_queue: rows, record_queue_bytes: bytes } = this.#limits;
    while (this.#waiting > 0 && (this.length > rows || this.#bytes > bytes)) this.#dropOldest();
  }

  /** The number of the newest accepted run. */
  get last(): number {
    return this.#last;
  }

  /** Including those that are being stored. */
  get length(): number {
    return this.#waiting + this.#storing.length;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Runs of this rule, or of any, no longer wait. */
  ask(ruleId?: number): void {
    for (const bundle of this.#bundles.values()) bundle.isAsked ||= ruleId === undefined || bundle.ruleId === ruleId;
  }

  /** Whether a run of this rule up to this number is not stored yet. */
  holds(ruleId: number, number: number): boolean {
    const isMeant = (each: Numbered): boolean => each.row.rule_id === ruleId && each.number <= number;
    if (this.#storing.some(isMeant)) return true;
    return [...this.#bundles.values()].some(
      (bundle) => bundle.ruleId === ruleId && Iterator.from(bundle.rows).some(isMeant),
    );
  }

  /** All runs up to this number are stored or dropped. */
  get settled(): number {
    let least = this.#last + 1;
    for (const { rows } of this.#bundles.values()) least = Math.min(least, rows.first?.number ?? least);
    for (const { number } of this.#storing) least = Math.min(least, number);
    return least - 1;
  }

  /** Time until the next ones are due, in milliseconds; null if none wait. */
  dueIn(nowMs: number): number | null {
    const [oldest] = this.#bundles.values();
    if (oldest === undefined) return null;
    if (this.#isCrowded() || [...this.#bundles.values()].some((bundle) => this.#isDue(bundle, nowMs))) return 0;
    return oldest.sinceMs + this.#blockMs - nowMs;
  }

  /** Takes the due ones, about `count` at a time, until `stored` or `putBack` reports the result. */
  take(nowMs: number, count: number): readonly RunRow[] {
    const taken: Numbered[] = [];
    for (const [key, bundle] of this.#bundles) {
      if (taken.length >= count) break;
      if (!this.#isCrowded() && !this.#isDue(bundle, nowMs)) continue;
      const rows = bundle.rows.take(count - taken.length);
      if (bundle.rows.length === 0) this.#bundles.delete(key);
      this.#waiting -= rows.length;
      for (const each of rows) taken.push(each);
    }
    this.#storing = taken;
    return taken.map(({ row }) => row);
  }

  stored(): void {
    for (const { row } of this.#storing) this.#bytes -= row.record.length;
    this.#storing = [];
  }

  /** After a failure: puts the rows back before the waiting ones and makes all of them due for the next attempt. */
  putBack(nowMs: number): void {
    const all = this.#removeAll();
    for (const each of all) this.#add(each, nowMs - this.#blockMs);
  }

  /** All that are neither stored nor journaled, in order of acceptance; none waits any longer. */
  remove(): readonly RunRow[] {
    return this.#removeAll()
      .filter(({ isKept }) => !isKept)
      .map(({ row }) => row);
  }

  #removeAll(): readonly Numbered[] {
    const all = [...this.#storing, ...[...this.#bundles.values()].flatMap(({ rows }) => [...rows])];
    this.#bundles.clear();
    this.#storing = [];
    this.#waiting = 0;
    this.#bytes = 0;
    return all.toSorted((a, b) => a.number - b.number);
  }

  #add(each: Numbered, sinceMs: number): void {
    const { rule_id: ruleId, unchanged, record } = each.row;
    const key = `${ruleId} ${unchanged}`;
    const bundle = this.#bundles.get(key);
    const { rows } = bundle ?? { rows: new Fifo<Numbered>() };
    rows.push(each);
    if (bundle === undefined) this.#bundles.set(key, { rows, ruleId, sinceMs, isAsked: false });
    this.#waiting++;
    this.#bytes += record.length;
  }

  #isDue(bundle: Bundle, nowMs: number): boolean {
    return bundle.isAsked || bundle.rows.length >= blockRunsMaximum || nowMs - bundle.sinceMs >= this.#blockMs;
  }

  #isCrowded(): boolean {
    return this.length * 2 > this.#limits.record_queue || this.#bytes * 2 > this.#limits.record_queue_bytes;
  }

  /** Only those that wait: the store may already have those that are being stored. */
  #dropOldest(): void {
    const [first] = this.#bundles;
    if (first === undefined) return;
    const [key, bundle] = first;
    const [gone] = bundle.rows.take(1);
    if (bundle.rows.length === 0) this.#bundles.delete(key);
    if (gone === undefined) return;
    this.#waiting--;
    this.#bytes -= gone.row.record.length;
    this.#dropped++;
  }
}
