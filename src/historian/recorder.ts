/**
 * The recorder's own work, the same in its thread and in-process [points §6.1]: it looks at the live table, keeps what
 * is to be recorded in a bounded queue, stores it in batches and removes what is older than the retention. A disk that
 * takes nothing is logged once, counted, and tried again: it stops neither acquisition nor rules.
 */
import { type Clock, type Timer, withTimeout } from '../base/clock.ts';
import { listen } from '../base/doorbell.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { dayMs } from '../base/timestamp.ts';
import { createLiveTableReader, createRuns } from '../points/live-table.ts';
import { doorbells, mayCommand, type PointMemory } from '../points/shared-memory.ts';
import { createSnapshot } from '../site/snapshot.ts';
import { type CommandedPoint, createCommandObserver } from './commands.ts';
import type { AppendReport, Historian, HistoryRow } from './historian.ts';
import type { HistoryLimits } from './limits.ts';
import { createObserver, type Earlier, type RecordedPoint } from './look.ts';

export interface RecorderSetup {
  readonly points: readonly RecordedPoint[];
  /** Action points. */
  readonly commanded: readonly CommandedPoint[];
  /** Points of the whole site: the size of the live table. */
  readonly tableSize: number;
  /** As a service starts, 'unstored'. */
  readonly earlier?: Earlier;
  readonly memory: PointMemory;
  readonly recordIntervalMs: number;
  readonly retentionDays: number;
  readonly limits: HistoryLimits;
}

export interface RecorderCounts {
  readonly recorded: number;
  readonly stored: number;
  readonly dropped: number;
  readonly waiting: number;
  readonly failedFlushes: number;
  readonly pruned: number;
}

export const noCounts: RecorderCounts = {
  recorded: 0,
  stored: 0,
  dropped: 0,
  waiting: 0,
  failedFlushes: 0,
  pruned: 0,
};

export function addedCounts(one: RecorderCounts, other: RecorderCounts): RecorderCounts {
  return {
    recorded: one.recorded + other.recorded,
    stored: one.stored + other.stored,
    dropped: one.dropped + other.dropped,
    waiting: one.waiting + other.waiting,
    failedFlushes: one.failedFlushes + other.failedFlushes,
    pruned: one.pruned + other.pruned,
  };
}

export interface HistoryRecorder {
  counts(): RecorderCounts;
  /** Stores rows that do not come from the live table, at once; throws when they were not taken. */
  append(rows: readonly HistoryRow[]): Promise<AppendReport>;
  /** Reads the live table once more; with `store`, stores pending rows. Returns the rows that are not known to be stored. */
  stop(store: boolean): Promise<readonly HistoryRow[]>;
}

export function startRecorder(setup: RecorderSetup, historian: Historian, clock: Clock, log: Log): HistoryRecorder {
  const { limits } = setup;
  const queue = new RowQueue(historian, limits, clock, log);
  const pruning = startPruning(setup, historian, clock, log);
  const looking = startLooking(setup, clock, (rows) => queue.add(rows));
  let flushTimer: Timer | undefined;
  let stopped = false;
  const flush = async (): Promise<void> => {
    const stored = await queue.flush();
    if (stopped) return;
    // A queue that the disk has left behind is emptied a transaction a turn, so that looks come in between.
    const behind = stored && queue.counts().waiting > 0;
    flushTimer = clock.after(behind ? 0 : limits.flush_interval_ms, () => void flush());
  };
  void flush();
  const storeAll = async (): Promise<void> => {
    while (queue.counts().waiting > 0 && (await queue.flush()));
  };
  return {
    counts: () => ({ ...queue.counts(), pruned: pruning.pruned() }),
    append: (rows) => historian.append(rows),
    async stop(store) {
      stopped = true;
      flushTimer?.cancel();
      pruning.stop();
      looking.stop();
      if (store) await withTimeout(clock, limits.stop_timeout_ms, storeAll());
      return queue.waiting();
    },
  };
}

/** Rows that wait to be stored: bounded, and stored a batch at a time. */
class RowQueue {
  readonly #historian: Historian;
  readonly #limits: HistoryLimits;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #counts = { recorded: 0, stored: 0, dropped: 0, failedFlushes: 0 };
  #waiting: HistoryRow[] = [];
  /** The rows of the append in progress, older than all that wait. */
  #storing: readonly HistoryRow[] = [];
  #turn: Promise<boolean> | undefined;
  #failing = false;

  constructor(historian: Historian, limits: HistoryLimits, clock: Clock, log: Log) {
    this.#historian = historian;
    this.#limits = limits;
    this.#clock = clock;
    this.#log = log;
  }

  counts() {
    return { ...this.#counts, waiting: this.#storing.length + this.#waiting.length };
  }

  waiting(): readonly HistoryRow[] {
    return [...this.#storing, ...this.#waiting];
  }

  add(rows: readonly HistoryRow[]): void {
    this.#counts.recorded += rows.length;
    // In place: a queue that is long would be copied at every look.
    for (const row of rows) this.#waiting.push(row);
    this.#dropExcess();
  }

  /** True when one batch was stored, or there was none. */
  flush(): Promise<boolean> {
    this.#turn ??= this.#flushBatch().finally(() => (this.#turn = undefined));
    return this.#turn;
  }

  #dropExcess(): void {
    const limit = this.#limits.queue_rows;
    const excess = this.#storing.length + this.#waiting.length - limit;
    if (excess <= 0) return;
    if (this.#counts.dropped === 0) this.#log.error('history queue full: dropping the oldest rows', { limit });
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.slice(excess);
    this.#counts.dropped += before - this.#waiting.length;
  }

  async #flushBatch(): Promise<boolean> {
    const nowMs = this.#clock.wallMs();
    // Pending rows are not visible to a read at this moment. A wall clock that was set back in between
    // must not make a reading look as if it came from the future.
    this.#storing = this.#waiting
      .slice(0, this.#limits.flush_rows)
      .map((row) => ({ ...row, ingestedMs: Math.max(row.ingestedMs, nowMs) }));
    this.#waiting = this.#waiting.slice(this.#storing.length);
    try {
      // Also without rows: the first flush makes the file. Once: the answer to an earlier attempt may have been lost.
      await this.#historian.append(this.#storing, { once: true });
    } catch (error) {
      this.#waiting = [...this.#storing, ...this.#waiting];
      this.#storing = [];
      this.#dropExcess();
      this.#counts.failedFlushes++;
      const waiting = this.#waiting.length;
      if (!this.#failing) this.#log.error('cannot store history; retrying', { waiting, ...reasonOf(error) });
      this.#failing = true;
      return false;
    }
    this.#counts.stored += this.#storing.length;
    this.#storing = [];
    const { dropped } = this.#counts;
    if (this.#failing) this.#log.info('history is being stored again', { waiting: this.#waiting.length, dropped });
    this.#failing = false;
    return true;
  }
}

/** Looks at every change, at most every `look_interval_ms`, and at everything every `recordIntervalMs`. */
function startLooking(setup: RecorderSetup, clock: Clock, take: (rows: readonly HistoryRow[]) => void) {
  const { memory, limits } = setup;
  const snapshot = createSnapshot(setup.tableSize);
  const runs = createRuns(setup.tableSize);
  const reader = createLiveTableReader(memory);
  const observer = createObserver(setup.points, setup.earlier);
  const commands = createCommandObserver(setup.commanded, memory, setup.recordIntervalMs);
  let lookedMs = Number.NEGATIVE_INFINITY;
  let soon: Timer | undefined;
  let regular: Timer | undefined;

  const look = (all: boolean): void => {
    lookedMs = clock.monotonicMs();
    // Of several processes the one that controls records; the lease of a process alone has no end.
    if (!mayCommand(memory, lookedMs)) return observer.pause();
    // A table that is being written all the time is looked at again with the next change or interval.
    if (reader.copyInto(snapshot, clock, runs)) take(observer.look(snapshot, runs, all));
  };
  const lookAtCommands = (): void => {
    const now = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    if (mayCommand(memory, now.monotonicMs)) take(commands.look(now));
  };
  const onChange = (): void => {
    if (soon !== undefined) return;
    const waitMs = lookedMs + limits.look_interval_ms - clock.monotonicMs();
    if (waitMs <= 0) {
      look(false);
      return;
    }
    soon = clock.after(waitMs, () => {
      soon = undefined;
      look(false);
    });
  };
  const onInterval = (): void => {
    look(true);
    regular = clock.after(setup.recordIntervalMs, onInterval);
  };
  const bell = listen(clock, memory.doorbells, doorbells.changes, onChange);
  const commandBell = listen(clock, memory.doorbells, doorbells.commands, lookAtCommands);
  onInterval();
  return {
    stop() {
      bell.stop();
      commandBell.stop();
      lookAtCommands();
      soon?.cancel();
      regular?.cancel();
      // Including the observations of unchanged readings until now.
      look(true);
    },
  };
}

function startPruning(setup: RecorderSetup, historian: Historian, clock: Clock, log: Log) {
  const { limits } = setup;
  let pruned = 0;
  let stopped = false;
  let timer: Timer | undefined;
  const prune = async (): Promise<void> => {
    let removed = 0;
    try {
      removed = await historian.prune(clock.wallMs() - setup.retentionDays * dayMs, limits.prune_rows);
    } catch (error) {
      log.warn('cannot remove old history', reasonOf(error));
    }
    pruned += removed;
    if (stopped) return;
    // There may be more: the rest goes soon, but not in one go.
    timer = clock.after(removed > 0 ? limits.flush_interval_ms : limits.prune_interval_ms, () => void prune());
  };
  timer = clock.after(limits.prune_interval_ms, () => void prune());
  return {
    pruned: () => pruned,
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}

function reasonOf(error: unknown): { readonly error: string } {
  if (!(error instanceof Fault)) throw error;
  return { error: error.cause instanceof Error ? error.cause.message : error.message };
}
