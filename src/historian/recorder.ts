/**
 * The recorder, the same in its thread and in-process [points §6.1]: it reads the live table, puts
 * rows into a bounded queue (`row-queue.ts`), has them stored in batches and deletes rows beyond the retention. A
 * failing disk is logged once, counted, and retried: it stops neither acquisition nor rules.
 */
import { type Timer, withTimeout } from '../base/clock.ts';
import { listen } from '../base/doorbell.ts';
import { dayMs } from '../base/timestamp.ts';
import { createLiveTableReader, createRuns } from '../points/live-table.ts';
import { doorbells, mayCommand, type PointMemory } from '../points/shared-memory.ts';
import { createSnapshot } from '../site/snapshot.ts';
import { type RetentionCell, retentionOf } from '../storage/retention-clock.ts';
import { type CommandedPoint, CommandObserver } from './commands.ts';
import type { AppendReport, Historian, HistoryRow, SeriesId } from './historian.ts';
import type { HistoryLimits } from './limits.ts';
import { createObserver, type Earlier, type RecordedPoint } from './look.ts';
import { RowQueue, type RowQueueParts, reasonOf } from './row-queue.ts';

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
  readonly retention: RetentionCell;
  readonly limits: HistoryLimits;
}

export interface RecorderCounts {
  readonly recorded: number;
  readonly stored: number;
  readonly dropped: number;
  readonly waiting: number;
  readonly failedFlushes: number;
  /** The last attempt to store failed. */
  readonly failing: boolean;
  readonly pruned: number;
}

export const noCounts: RecorderCounts = {
  recorded: 0,
  stored: 0,
  dropped: 0,
  waiting: 0,
  failedFlushes: 0,
  failing: false,
  pruned: 0,
};

/** Of two recorders, one after the other. */
export function addedCounts(one: RecorderCounts, other: RecorderCounts): RecorderCounts {
  return {
    recorded: one.recorded + other.recorded,
    stored: one.stored + other.stored,
    dropped: one.dropped + other.dropped,
    waiting: one.waiting + other.waiting,
    failedFlushes: one.failedFlushes + other.failedFlushes,
    failing: other.failing,
    pruned: one.pruned + other.pruned,
  };
}

export interface RecorderParts extends Omit<RowQueueParts, 'limits' | 'historian'> {
  readonly historian: Historian;
  /** Whether another process has asked to read since the last check: then everything is stored. */
  readonly isAsked: () => boolean;
  /** Whether pending rows are stored before every read. On a server, other machines read as well. */
  readonly readersSettle: boolean;
}

export interface HistoryRecorder {
  counts(): RecorderCounts;
  /** Stores the rows of these series recorded before the call; false if that failed or is not done by `untilMs` (monotonic). */
  settle(series: readonly SeriesId[], untilMs: number): Promise<boolean>;
  /** Stores rows that do not come from the live table, at once; throws if they were not accepted. */
  append(rows: readonly HistoryRow[]): Promise<AppendReport>;
  /**
   * Reads the live table once more; with `store`, stores pending rows. Returns the rows that are neither confirmed as stored nor in
   * the journal.
   */
  stop(store: boolean): Promise<readonly HistoryRow[]>;
}

export function startRecorder(setup: RecorderSetup, parts: RecorderParts): HistoryRecorder {
  const { limits } = setup;
  const { historian, clock } = parts;
  const queue = new RowQueue({ ...parts, limits });
  const pruning = startPruning(setup, parts);
  const looking = startLooking(setup, parts, (rows) => queue.add(rows));
  let flushTimer: Timer | undefined;
  let stopped = false;
  const flush = async (): Promise<void> => {
    if (parts.isAsked()) {
      looking.endCommands();
      queue.ask();
    }
    const stored = await queue.flush();
    if (stopped) return;
    // One transaction per turn, so that reads of the live table come in between.
    const behind = stored && queue.isBehind;
    flushTimer = clock.after(behind ? 0 : limits.flush_interval_ms, () => void flush());
  };
  void flush();
  return {
    counts: () => ({ ...queue.counts(), pruned: pruning.pruned() }),
    settle(series, untilMs) {
      looking.endCommands(series);
      return queue.settle(series, untilMs);
    },
    append: (rows) => historian.append(rows),
    async stop(store) {
      stopped = true;
      flushTimer?.cancel();
      pruning.stop();
      looking.stop();
      if (store) await withTimeout(clock, limits.stop_timeout_ms, queue.flushAll());
      return queue.unkept();
    },
  };
}

/** Reads on every change, at most every `look_interval_ms`, and everything every `recordIntervalMs`. */
function startLooking(
  setup: RecorderSetup,
  { clock, readersSettle }: Pick<RecorderParts, 'clock' | 'readersSettle'>,
  take: (rows: readonly HistoryRow[]) => void,
) {
  const { memory, limits } = setup;
  const snapshot = createSnapshot(setup.tableSize);
  const runs = createRuns(setup.tableSize);
  const reader = createLiveTableReader(memory);
  const observer = createObserver(setup.points, setup.earlier);
  const { commanded, recordIntervalMs } = setup;
  const repeatMs = readersSettle ? Math.max(limits.command_repeat_ms, recordIntervalMs) : recordIntervalMs;
  const commands = new CommandObserver(commanded, memory, { recordIntervalMs, repeatMs });
  let lookedMs = Number.NEGATIVE_INFINITY;
  let soon: Timer | undefined;
  let regular: Timer | undefined;

  const look = (all: boolean): void => {
    lookedMs = clock.monotonicMs();
    // Of several processes the leader records; the lease of a single process never ends.
    if (!mayCommand(memory, lookedMs)) return observer.pause();
    // A table that is being written continuously is read again with the next change or interval.
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
  const endCommands = (series?: readonly SeriesId[]): void => {
    lookAtCommands();
    take(commands.pending(clock.wallMs(), series));
  };
  return {
    endCommands,
    stop() {
      bell.stop();
      commandBell.stop();
      endCommands();
      soon?.cancel();
      regular?.cancel();
      // Including the observations of unchanged readings until now.
      look(true);
    },
  };
}

function startPruning(setup: RecorderSetup, { historian, clock, log }: RecorderParts) {
  const { limits } = setup;
  const retention = retentionOf(setup.retention);
  let pruned = 0;
  let stopped = false;
  let timer: Timer | undefined;
  const prune = async (): Promise<void> => {
    let removed = 0;
    try {
      removed = await historian.prune(retention.nowMs() - setup.retentionDays * dayMs, limits.prune_rows);
    } catch (error) {
      log.warn('cannot remove old history', reasonOf(error));
    }
    pruned += removed;
    if (stopped) return;
    // There may be more: the rest follows soon, in another turn.
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
