/**
 * The bounded queue of rows to be stored [points §6.1]. On files, rows wait for more rows of their series, to write less: each series has
 * its own pages, and SQLite writes whole pages. Until they are stored they are in a journal. A reader has the pending rows of its
 * series stored first (`settle`), so it sees everything that was recorded before.
 */
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import type { RowJournal } from '../storage/row-journal.ts';
import type { Historian, HistoryRow, SeriesId } from './historian.ts';
import type { HistoryLimits } from './limits.ts';

export interface RowQueueParts {
  readonly historian: Pick<Historian, 'append'>;
  /** None on a server: rows are stored at once there. */
  readonly journal: RowJournal<HistoryRow>;
  readonly limits: HistoryLimits;
  readonly clock: Clock;
  readonly log: Log;
}

interface Waiting {
  readonly row: HistoryRow;
  /** In order of arrival, from 1. */
  readonly number: number;
  readonly sinceMs: number;
}

export class RowQueue {
  readonly #parts: RowQueueParts;
  readonly #counts = { recorded: 0, stored: 0, dropped: 0, failedFlushes: 0 };
  /** Rows that wait for more rows of their series, by arrival. */
  #waiting: Waiting[] = [];
  /** Rows to be stored now; by series, so that a transaction writes few pages. */
  #due: Waiting[] = [];
  /** The rows of the append in progress. */
  #storing: readonly Waiting[] = [];
  #last = 0;
  /** The journal has the rows up to this number. */
  #kept = 0;
  /** A reader may have missed the rows up to this number. */
  #missed = 0;
  /** A reader needs everything stored. */
  #asked = false;
  #turn: Promise<boolean> | undefined;
  #failing = false;
  /** The journal rejected a write: that is logged once. */
  #unkept = false;
  /** The journal of the previous process or thread has been stored, and the file exists. */
  #begun = false;

  constructor(parts: RowQueueParts) {
    this.#parts = parts;
  }

  counts() {
    return { ...this.#counts, waiting: this.#length(), failing: this.#failing };
  }

  /** Whether some could be stored now. */
  get isBehind(): boolean {
    return this.#due.length > 0;
  }

  /** Rows that are neither stored nor in the journal. */
  unkept(): readonly HistoryRow[] {
    const all = [...this.#storing, ...this.#due, ...this.#waiting];
    return all
      .filter(({ number }) => number > this.#kept)
      .toSorted((one, other) => one.number - other.number)
      .map(({ row }) => row);
  }

  add(rows: readonly HistoryRow[]): void {
    this.#counts.recorded += rows.length;
    const sinceMs = this.#parts.clock.monotonicMs();
    // In place: a long queue would otherwise be copied on every read.
    for (const row of rows) this.#waiting.push({ row, number: ++this.#last, sinceMs });
    this.#dropExcess();
  }

  /** The next flushes store everything that is queued by then. */
  ask(): void {
    this.#asked = true;
  }

  /** Stores one batch of the due rows; true if it was stored, or there was none. */
  flush(): Promise<boolean> {
    this.#turn ??= this.#flushOnce().finally(() => (this.#turn = undefined));
    return this.#turn;
  }

  /** Stores all queued rows; false if storing failed. */
  async flushAll(): Promise<boolean> {
    await this.#turn;
    this.#bringForward();
    while (!this.#begun || this.#due.length > 0) if (!(await this.flush())) return false;
    return true;
  }

  /** Stores the pending rows of these series before anything else; false if that failed or is not done by `untilMs` (monotonic). */
  async settle(series: readonly SeriesId[], untilMs: number): Promise<boolean> {
    await this.#turn;
    const isOneOf = oneOf(series);
    const isAsked = ({ row }: Waiting): boolean => isOneOf(row.series);
    this.#bringForward(isAsked);
    while (!this.#begun || this.#due.some(isAsked) || this.#storing.some(isAsked)) {
      if (this.#parts.clock.monotonicMs() >= untilMs) {
        // The reader continues without them.
        this.#missed = this.#last;
        return false;
      }
      if (!(await this.flush())) return false;
    }
    return true;
  }

  #length(): number {
    return this.#storing.length + this.#due.length + this.#waiting.length;
  }

  #isDue(): boolean {
    const { limits, clock } = this.#parts;
    const [oldest] = this.#waiting;
    if (oldest === undefined) return false;
    if (this.#kept < this.#last || this.#length() * 2 > limits.queue_rows) return true;
    return clock.monotonicMs() - oldest.sinceMs >= limits.block_ms;
  }

  /** Makes these rows due at once, ahead of rows that are already due. */
  #bringForward(isMeant: (each: Waiting) => boolean = () => true): void {
    this.#keep();
    const [meant, others] = parted(this.#waiting, isMeant);
    const [first, later] = parted(this.#due, isMeant);
    this.#waiting = others;
    // While the store does not accept rows, sorting would be wasted.
    this.#due = [...(this.#failing ? [...first, ...meant] : [...first, ...meant].toSorted(bySeries)), ...later];
  }

  #keep(): void {
    const { journal, log } = this.#parts;
    if (this.#kept === this.#last) return;
    let from = this.#waiting.length;
    while (from > 0 && (this.#waiting[from - 1]?.number ?? 0) > this.#kept) from--;
    try {
      const isKept = journal.append(
        this.#waiting.slice(from).map(({ row }) => row),
        this.#last,
      );
      if (isKept) this.#kept = this.#last;
      this.#unkept = false;
    } catch (error) {
      if (!this.#unkept) log.error('cannot write the history journal', { error: String(error) });
      this.#unkept = true;
    }
  }

  #dropExcess(): void {
    const limit = this.#parts.limits.queue_rows;
    const excess = this.#length() - limit;
    if (excess <= 0) return;
    if (this.#counts.dropped === 0) this.#parts.log.error('history queue full: dropping the oldest rows', { limit });
    this.#waiting = byArrival([...this.#due, ...this.#waiting]);
    this.#due = [];
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.slice(excess);
    this.#counts.dropped += before - this.#waiting.length;
  }

  async #flushOnce(): Promise<boolean> {
    const { journal, limits } = this.#parts;
    this.#keep();
    if (this.#due.length === 0 && (this.#asked || this.#isDue())) {
      this.#asked = false;
      this.#bringForward();
      journal.turnOver();
    }
    const count = limits.flush_rows;
    this.#storing = this.#due.slice(0, count);
    this.#due = this.#due.slice(count);
    try {
      await this.#begin();
      if (this.#storing.length > 0) await this.#append(this.#storing);
    } catch (error) {
      this.#putBack(error);
      return false;
    }
    this.#counts.stored += this.#storing.length;
    this.#storing = [];
    journal.stored(this.#settled());
    const { dropped } = this.#counts;
    const waiting = this.#length();
    if (this.#failing) this.#parts.log.info('history is being stored again', { waiting, dropped });
    this.#failing = false;
    return true;
  }

  #putBack(error: unknown): void {
    this.#waiting = byArrival([...this.#storing, ...this.#due, ...this.#waiting]);
    this.#due = [];
    this.#storing = [];
    this.#missed = this.#last;
    this.#dropExcess();
    this.#parts.journal.stored(this.#settled());
    this.#counts.failedFlushes++;
    const waiting = this.#length();
    if (!this.#failing) this.#parts.log.error('cannot store history; retrying', { waiting, ...reasonOf(error) });
    this.#failing = true;
  }

  /** Stored once: the answer to an earlier attempt may have been lost. */
  async #append(rows: readonly Waiting[]): Promise<void> {
    const { historian, clock } = this.#parts;
    const nowMs = clock.wallMs();
    // Rows that no reader has requested yet were not visible until now. A wall clock that was set back in between must
    // not make a reading appear to come from the future.
    const known = rows.map(({ row, number }) =>
      number > this.#missed && number <= this.#kept ? row : { ...row, ingestedMs: Math.max(row.ingestedMs, nowMs) },
    );
    await historian.append(known, { once: true });
  }

  /** Creates the file, and stores rows that the previous process had accepted but perhaps not stored. */
  async #begin(): Promise<void> {
    if (this.#begun) return;
    const { historian, journal, limits, clock, log } = this.#parts;
    await historian.append([], { once: true });
    try {
      const rows = await storeLeft(journal, historian, limits.flush_rows, clock);
      if (rows > 0) log.info('journaled readings stored', { rows });
    } catch (error) {
      if (error instanceof Fault) throw error;
      // It stays in place, for the next start.
      log.error('cannot read the history journal', { error: String(error) });
    }
    this.#begun = true;
  }

  /** All rows up to this number are stored or dropped. */
  #settled(): number {
    let least = this.#waiting[0]?.number ?? this.#last + 1;
    for (const { number } of this.#due) least = Math.min(least, number);
    return least - 1;
  }
}

/**
 * Stores the rows in the journal of an earlier process; returns their number. They were not visible until now: that is their
 * ingestion time.
 */
export async function storeLeft(
  journal: RowJournal<HistoryRow>,
  historian: Pick<Historian, 'append'>,
  portion: number,
  clock: Clock,
): Promise<number> {
  const nowMs = clock.wallMs();
  const rows = journal
    .left()
    .map((row) => ({ row }))
    .toSorted(bySeries)
    .map(({ row }) => ({ ...row, ingestedMs: Math.max(row.ingestedMs, nowMs) }));
  for (let from = 0; from < rows.length; from += portion)
    await historian.append(rows.slice(from, from + portion), { once: true });
  journal.forget();
  return rows.length;
}

/** Thousands of rows are tested; a text key for each would cost more than the rest. */
function oneOf(series: readonly SeriesId[]): (asked: SeriesId) => boolean {
  const known = Map.groupBy(series, ({ instance }) => instance);
  const points = new Map([...known].map(([instance, ids]) => [instance, new Set(ids.map(numberIn))]));
  return (asked) => points.get(asked.instance)?.has(numberIn(asked)) ?? false;
}

/** Unique within an instance. */
function numberIn(series: SeriesId): number {
  return series.point * 2 + kindOrder(series);
}

function parted<T>(all: readonly T[], isMeant: (each: T) => boolean): [meant: T[], others: T[]] {
  const [meant, others]: [T[], T[]] = [[], []];
  for (const each of all) (isMeant(each) ? meant : others).push(each);
  return [meant, others];
}

function byArrival(rows: Waiting[]): Waiting[] {
  return rows.toSorted((one, other) => one.number - other.number);
}

function bySeries({ row: { series: one } }: { row: HistoryRow }, { row: { series: other } }: { row: HistoryRow }) {
  return one.instance - other.instance || one.point - other.point || kindOrder(one) - kindOrder(other);
}

function kindOrder({ kind }: SeriesId): number {
  return kind === undefined ? 0 : 1;
}

/** The store's reason, for the log; throws an error that is not the store's. */
export function reasonOf(error: unknown): { readonly error: string } {
  if (!(error instanceof Fault)) throw error;
  return { error: error.cause instanceof Error ? error.cause.message : error.message };
}
