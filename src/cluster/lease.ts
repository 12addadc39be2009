/**
 * Which of several processes controls the site (docs/guides/several-machines.md). The one that holds an advisory lock on a
 * connection of its own does, for as long as it renews its lease; each new holder raises the epoch, which fences off whatever
 * an older one still writes. The end of a lease is told by the holder's own monotonic clock, so that neither a stopped process
 * nor a database that is away can make two of them control: the next one waits until the last lease is over in any case,
 * counted on its own monotonic clock from when it last saw that lease renewed. No clock has to show the right time.
 */
import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import {
  connectPostgres,
  endHolder,
  lockKey,
  type PostgresConnection,
  type PostgresPlace,
} from '../storage/postgres.ts';

export interface EngineLease {
  state(): 'standby' | 'waiting' | 'leading';
  /** Gives it up in order: whoever stands by may control at once. Whatever controls must have stopped before. */
  release(): Promise<void>;
}

export interface LeaseParts {
  readonly place: PostgresPlace;
  readonly clock: Clock;
  readonly log: Log;
  /** Names this process for the operator. */
  readonly holder: string;
  /** How long a command may be on its way to a device; waited for beside the rest of the last lease. */
  readonly graceMs: number;
  /** This process is the next to control: it may get ready, and command nothing yet. */
  readonly onNext: (epoch: number) => void;
  /** Nothing is left of the last one: it controls. */
  readonly onLead: (epoch: number) => void;
  /** Commands may be sent until this moment of the monotonic clock. */
  readonly onExtend: (untilMs: number) => void;
  /** Follows `onNext`. Resolves when nothing of this process controls any more; only then it contends again. */
  readonly onLost: (reason: string) => Promise<void>;
}

interface Term {
  readonly epoch: number;
  /** When nothing of the last holder can reach a device any more. */
  readonly freeMs: number;
  leaseEndMs: number;
}

/** What the database takes to end a session. */
const endedMs = 30;

export function holdLease(parts: LeaseParts): EngineLease {
  const { clock, log } = parts;
  const { engine_lease_ms: leaseMs, engine_renew_ms: renewMs, engine_poll_ms: pollMs } = parts.place.limits;
  const schema = parts.place.limits.postgres_schema;
  // A busy machine may take longer than a lease to connect; whoever leads watches the end of its lease itself.
  const answerMs = Math.max(leaseMs, parts.place.limits.connect_timeout_ms);
  const server = connectPostgres(
    { ...parts.place, limits: { ...parts.place.limits, connections_max: 1, statement_timeout_ms: answerMs } },
    'engine',
  );
  let connection: PostgresConnection | undefined;
  let state: ReturnType<EngineLease['state']> = 'standby';
  let term: Term | undefined;
  let seen: { readonly mark: string; readonly atMs: number } | undefined;
  /** Since the database was away for this process: what it showed of the lease at first. Perhaps it was away for the holder, too. */
  let returned: { mark: string | undefined } | undefined;
  let trouble = '';
  const closing = new AbortController();

  const connected = async (): Promise<PostgresConnection> => (connection ??= await server.connect());
  const disconnect = (): void => {
    connection?.release(true);
    connection = undefined;
  };
  /** Trouble is told once, not at every look. */
  const note = (error: unknown): void => {
    const text = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    if (text !== trouble) log.warn('lease database not responding', { reason: text });
    trouble = text;
  };

  /**
   * When the lease was renewed before: seen no earlier than that, by this process's own clock. A server that crashed may have
   * forgotten the last renewals: what was seen before this process lost its connection counts for nothing.
   */
  const renewedBefore = (mark: unknown): number => {
    const text = String(mark);
    if (seen === undefined || seen.mark !== text) seen = { mark: text, atMs: clock.monotonicMs() };
    return seen.atMs;
  };

  /**
   * After the database was away its locks are nobody's. They are left to whoever held the lease until that is over, so that a
   * restart of the database does not end control.
   */
  const leftToHolder = async (run: PostgresConnection['run']): Promise<number> => {
    if (returned === undefined) return 0;
    const [row] = await run('SELECT renewed_at::text AS mark, released FROM engine_lease');
    const mark = String(row?.['mark']);
    returned.mark ??= mark;
    const waitMs = renewedBefore(mark) + leaseMs - clock.monotonicMs();
    if (waitMs > 0 && mark === returned.mark && row?.['released'] !== true) return waitMs;
    returned = undefined;
    return 0;
  };

  /** The lock, and with it the next epoch; or how long another process may have it for sure. */
  const contend = async (): Promise<Term | { readonly waitMs: number }> => {
    const { run } = await connected();
    const leftMs = await leftToHolder(run);
    if (leftMs > 0) return { waitMs: leftMs };
    const [row] = await run(
      `SELECT pg_try_advisory_lock(${lockKey(schema, 'engine')}) AS got, renewed_at::text AS mark, released FROM engine_lease`,
    );
    trouble = '';
    const overMs = renewedBefore(row?.['mark']) + leaseMs;
    if (row?.['got'] !== true) {
      const waitMs = overMs - clock.monotonicMs();
      if (waitMs > 0) return { waitMs };
      // A holder that does not renew has stopped or lost its way to the database, which may not know it for long.
      await run(endHolder(schema, 'engine'));
      // Its lock is free in a moment.
      return { waitMs: endedMs };
    }
    // What a stopped holder has begun to store would hold the epoch's row until the server gives it up, seconds later.
    if (row['released'] !== true) {
      await run(endHolder(schema, 'runtime'));
      // An import of history is no holder's: it does not look at the epoch.
      await run(`${endHolder(schema, 'history')}
        AND pid IN (SELECT pid FROM pg_locks WHERE relation = 'engine_lease'::regclass AND mode = 'RowShareLock')`);
    }
    // Nobody renews an older epoch from here on.
    const [last] = await run(
      `UPDATE engine_lease SET epoch = epoch + 1, holder = $1 RETURNING epoch, renewed_at::text AS mark, released`,
      [parts.holder],
    );
    const epoch = Number(last?.['epoch']);
    const freeMs = last?.['released'] === true ? 0 : renewedBefore(last?.['mark']) + leaseMs + parts.graceMs;
    const sentMs = clock.monotonicMs();
    await run(`UPDATE engine_lease SET renewed_at = clock_timestamp(), released = false WHERE epoch = $1`, [epoch]);
    return { epoch, freeMs, leaseEndMs: sentMs + leaseMs };
  };

  /** True: the lease is renewed. False: not now, though it may be ours still. Throws nothing. */
  const renew = async (current: Term): Promise<'renewed' | 'unanswered' | 'taken'> => {
    const sentMs = clock.monotonicMs();
    const ask = async (): Promise<'renewed' | 'unanswered' | 'taken'> => {
      const fresh = connection === undefined;
      const { run } = await connected();
      if (fresh) {
        const [row] = await run(
          `SELECT pg_try_advisory_lock(${lockKey(schema, 'engine')}) AS got, epoch FROM engine_lease`,
        );
        if (Number(row?.['epoch']) !== current.epoch) return 'taken';
        if (row?.['got'] !== true) {
          // The database has not noticed yet that the old connection is gone.
          disconnect();
          return 'unanswered';
        }
      }
      // Not waited for until it is on disk: whoever misses a renewal that a crash of the server took back begins to count anew.
      const rows = await run(
        `UPDATE engine_lease SET renewed_at = clock_timestamp() WHERE epoch = $1
          RETURNING epoch, set_config('synchronous_commit', 'off', true)`,
        [current.epoch],
      );
      return rows.length === 1 ? 'renewed' : 'taken';
    };
    const late = new AbortController();
    const deadline = sleep(clock, Math.max(0, current.leaseEndMs - sentMs), late.signal).then(
      () => 'unanswered' as const,
      () => 'unanswered' as const,
    );
    try {
      const answer = await Promise.race([ask(), deadline]);
      if (answer === 'renewed') current.leaseEndMs = sentMs + leaseMs;
      return answer;
    } catch (error) {
      note(error);
      disconnect();
      return 'unanswered';
    } finally {
      late.abort();
    }
  };

  /** Holds the lease until it is lost; says why. */
  const lead = async (current: Term): Promise<string> => {
    state = 'waiting';
    log.info('this process is the next to control', { epoch: current.epoch });
    parts.onNext(current.epoch);
    for (;;) {
      if (state === 'waiting' && clock.monotonicMs() >= current.freeMs) {
        state = 'leading';
        parts.onExtend(current.leaseEndMs);
        parts.onLead(current.epoch);
      }
      const untilFreeMs = state === 'waiting' ? Math.max(1, current.freeMs - clock.monotonicMs()) : renewMs;
      await sleep(clock, Math.min(renewMs, untilFreeMs), closing.signal);
      const answer = await renew(current);
      if (answer === 'taken') return 'another process has taken over';
      if (clock.monotonicMs() >= current.leaseEndMs) return 'the lease ended: the database does not answer';
      if (state === 'leading') parts.onExtend(current.leaseEndMs);
    }
  };

  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      try {
        const found = await contend();
        term = 'waitMs' in found ? undefined : found;
        if (term !== undefined) {
          const reason = await lead(term);
          disconnect();
          term = undefined;
          state = 'standby';
          log.warn('this process does not control any more', { reason });
          await parts.onLost(reason);
        }
        await sleep(clock, 'waitMs' in found ? Math.min(pollMs, Math.max(1, found.waitMs)) : pollMs, closing.signal);
      } catch (error) {
        if (closing.signal.aborted) return;
        note(error);
        disconnect();
        returned = { mark: undefined };
        seen = undefined;
        await sleep(clock, pollMs, closing.signal).catch(() => undefined);
      }
    }
  };
  const running = run();

  return {
    state: () => state,
    async release() {
      closing.abort();
      await running.catch(() => undefined);
      try {
        if (term !== undefined) {
          const { run: ask } = await connected();
          await ask('UPDATE engine_lease SET released = true WHERE epoch = $1', [term.epoch]);
        }
      } catch (error) {
        note(error);
      }
      state = 'standby';
      disconnect();
      await server.close();
    },
  };
}
