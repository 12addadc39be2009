/**
 * Leader election among several processes of a site (docs/guides/several-machines.md). The leader holds an advisory lock on a
 * separate connection and renews its lease; each new leader raises the epoch, which fences off
 * late writes of an older one. The leader's own monotonic clock decides the end of a lease, so that neither a stopped process
 * nor an unavailable database can lead to two leaders: the next one waits until the last lease is over in any case,
 * counted on its own monotonic clock from when it last saw that lease renewed. No wall clock needs to be right.
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
  /** Releases it: a standby may take over at once. Control must have stopped before. */
  release(): Promise<void>;
}

export interface LeaseParts {
  readonly place: PostgresPlace;
  readonly clock: Clock;
  readonly log: Log;
  /** Name of this process for the operator. */
  readonly holder: string;
  /** Maximum time of a command on its way to a device; waited for in addition to the rest of the last lease. */
  readonly graceMs: number;
  /** This process is the next leader: it may prepare, but command nothing yet. */
  readonly onNext: (epoch: number) => void;
  /** The last leader has ended: this process leads. */
  readonly onLead: (epoch: number) => void;
  /** Commands may be sent until this time of the monotonic clock. */
  readonly onExtend: (untilMs: number) => void;
  /** Follows `onNext`. Resolves when this process no longer controls anything; only then it contends again. */
  readonly onLost: (reason: string) => Promise<void>;
}

interface Term {
  readonly epoch: number;
  /** When no command of the last leader can reach a device any more. */
  readonly freeMs: number;
  leaseEndMs: number;
}

/** The time that the database takes to end a session. */
const endedMs = 30;

export function holdLease(parts: LeaseParts): EngineLease {
  return new HeldLease(parts);
}

class HeldLease implements EngineLease {
  readonly #parts: LeaseParts;
  readonly #clock;
  readonly #log;
  readonly #leaseMs;
  readonly #renewMs;
  readonly #pollMs;
  readonly #schema;
  // A busy machine may take longer than a lease to connect; the leader checks the end of its lease itself.
  readonly #answerMs;
  readonly #server;
  #connection: PostgresConnection | undefined;
  #state: ReturnType<EngineLease['state']> = 'standby';
  #term: Term | undefined;
  #seen: { readonly mark: string; readonly atMs: number } | undefined;
  /** Since the database was unavailable for this process: the first observed lease. The leader may have lost it, too. */
  #returned: { mark: string | undefined } | undefined;
  #trouble = '';
  readonly #closing = new AbortController();
  readonly #running;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    const { clock, log } = parts;
    this.#clock = clock;
    this.#log = log;
    const { engine_lease_ms: leaseMs, engine_renew_ms: renewMs, engine_poll_ms: pollMs } = parts.place.limits;
    this.#leaseMs = leaseMs;
    this.#renewMs = renewMs;
    this.#pollMs = pollMs;
    this.#schema = parts.place.limits.postgres_schema;
    this.#answerMs = Math.max(this.#leaseMs, parts.place.limits.connect_timeout_ms);
    this.#server = connectPostgres(
      { ...parts.place, limits: { ...parts.place.limits, connections_max: 1, statement_timeout_ms: this.#answerMs } },
      'engine',
    );
    this.#running = this.#run();
  }

  state(): 'standby' | 'waiting' | 'leading' {
    return this.#state;
  }

  async release(): Promise<void> {
    this.#closing.abort();
    await this.#running.catch(() => undefined);
    try {
      if (this.#term !== undefined) {
        const { run: ask } = await this.#connected();
        await ask('UPDATE engine_lease SET released = true WHERE epoch = $1', [this.#term.epoch]);
      }
    } catch (error) {
      this.#note(error);
    }
    this.#state = 'standby';
    this.#disconnect();
    await this.#server.close();
  }

  async #connected(): Promise<PostgresConnection> {
    return (this.#connection ??= await this.#server.connect());
  }

  #disconnect(): void {
    this.#connection?.release(true);
    this.#connection = undefined;
  }

  /** Log each error once, not at every attempt. */
  #note(error: unknown): void {
    const text = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    if (text !== this.#trouble) this.#log.warn('lease database not responding', { reason: text });
    this.#trouble = text;
  }

  /**
   * Latest known renewal of the lease, by this process's own clock. A server that crashed may have
   * lost the last renewals: observations from before this process lost its connection do not count.
   */
  #renewedBefore(mark: unknown): number {
    const text = String(mark);
    if (this.#seen === undefined || this.#seen.mark !== text)
      this.#seen = { mark: text, atMs: this.#clock.monotonicMs() };
    return this.#seen.atMs;
  }

  /** When the last seen lease ends. Its holder may have a longer one than this process, as while a setting is being changed. */
  #leaseOverMs(row: Readonly<Record<string, unknown>> | undefined): number {
    return this.#renewedBefore(row?.['mark']) + Math.max(this.#leaseMs, Number(row?.['lease_ms'] ?? 0));
  }

  /**
   * After a restart of the database its locks are free. They are left to the holder of the lease until it ends, so that a restart
   * of the database does not end control.
   */
  async #leftToHolder(run: PostgresConnection['run']): Promise<number> {
    if (this.#returned === undefined) return 0;
    const [row] = await run('SELECT renewed_at::text AS mark, released, lease_ms FROM engine_lease');
    const mark = String(row?.['mark']);
    this.#returned.mark ??= mark;
    const waitMs = this.#leaseOverMs(row) - this.#clock.monotonicMs();
    if (waitMs > 0 && mark === this.#returned.mark && row?.['released'] !== true) return waitMs;
    this.#returned = undefined;
    return 0;
  }

  /** The lock, and with it the next epoch; or the time for which another process certainly holds it. */
  async #contend(): Promise<Term | { readonly waitMs: number }> {
    const { run } = await this.#connected();
    const leftMs = await this.#leftToHolder(run);
    if (leftMs > 0) return { waitMs: leftMs };
    const [row] = await run(
      `SELECT pg_try_advisory_lock(${lockKey(this.#schema, 'engine')}) AS got, renewed_at::text AS mark, released, lease_ms FROM engine_lease`,
    );
    const overMs = this.#leaseOverMs(row);
    if (row?.['got'] !== true) {
      const waitMs = overMs - this.#clock.monotonicMs();
      if (waitMs > 0) {
        this.#trouble = '';
        return { waitMs };
      }
      // A leader that does not renew has stopped or lost its connection, which the database may not notice for a long time.
      await run(endHolder(this.#schema, 'engine'));
      // Its lock is free in a moment.
      return { waitMs: endedMs };
    }
    // A transaction of a stopped leader would keep the epoch's row locked until the server aborts it, seconds later.
    if (row['released'] !== true) {
      await run(endHolder(this.#schema, 'runtime'));
      // An import of history is not a leader's: it does not read the epoch.
      await run(`${endHolder(this.#schema, 'history')}
        AND pid IN (SELECT pid FROM pg_locks WHERE relation = 'engine_lease'::regclass AND mode = 'RowShareLock')`);
    }
    // From here on nobody renews an older epoch.
    const [last] = await run(
      `UPDATE engine_lease SET epoch = epoch + 1, holder = $1 RETURNING epoch, renewed_at::text AS mark, released, lease_ms`,
      [this.#parts.holder],
    );
    const epoch = Number(last?.['epoch']);
    const freeMs = last?.['released'] === true ? 0 : this.#leaseOverMs(last) + this.#parts.graceMs;
    const sentMs = this.#clock.monotonicMs();
    await run(
      `UPDATE engine_lease SET renewed_at = clock_timestamp(), released = false, lease_ms = $2 WHERE epoch = $1`,
      [epoch, this.#leaseMs],
    );
    this.#trouble = '';
    return { epoch, freeMs, leaseEndMs: sentMs + this.#leaseMs };
  }

  /** True: the lease is renewed. False: not now, though it may still be held. Never throws. */
  async #renew(current: Term): Promise<'renewed' | 'unanswered' | 'taken'> {
    const sentMs = this.#clock.monotonicMs();
    const ask = async (): Promise<'renewed' | 'unanswered' | 'taken'> => {
      const fresh = this.#connection === undefined;
      const { run } = await this.#connected();
      if (fresh) {
        const [row] = await run(
          `SELECT pg_try_advisory_lock(${lockKey(this.#schema, 'engine')}) AS got, epoch FROM engine_lease`,
        );
        if (Number(row?.['epoch']) !== current.epoch) return 'taken';
        if (row?.['got'] !== true) {
          // The database has not noticed yet that the old connection is lost.
          this.#disconnect();
          return 'unanswered';
        }
      }
      // Not synced to disk: a process that misses a renewal that a crash of the server rolled back starts counting
      // again.
      const rows = await run(
        `UPDATE engine_lease SET renewed_at = clock_timestamp() WHERE epoch = $1
          RETURNING epoch, set_config('synchronous_commit', 'off', true)`,
        [current.epoch],
      );
      return rows.length === 1 ? 'renewed' : 'taken';
    };
    const late = new AbortController();
    const deadline = sleep(this.#clock, Math.max(0, current.leaseEndMs - sentMs), late.signal).then(
      () => 'unanswered' as const,
      () => 'unanswered' as const,
    );
    try {
      const answer = await Promise.race([ask(), deadline]);
      if (answer === 'renewed') {
        current.leaseEndMs = sentMs + this.#leaseMs;
        this.#trouble = '';
      }
      return answer;
    } catch (error) {
      this.#note(error);
      this.#disconnect();
      return 'unanswered';
    } finally {
      late.abort();
    }
  }

  /** Holds the lease until it is lost; returns the reason. */
  async #lead(current: Term): Promise<string> {
    this.#state = 'waiting';
    this.#log.info('this process is next in line to control', { epoch: current.epoch });
    this.#parts.onNext(current.epoch);
    for (;;) {
      if (this.#state === 'waiting' && this.#clock.monotonicMs() >= current.freeMs) {
        this.#state = 'leading';
        this.#parts.onExtend(current.leaseEndMs);
        this.#parts.onLead(current.epoch);
      }
      const untilFreeMs =
        this.#state === 'waiting' ? Math.max(1, current.freeMs - this.#clock.monotonicMs()) : this.#renewMs;
      await sleep(this.#clock, Math.min(this.#renewMs, untilFreeMs), this.#closing.signal);
      const answer = await this.#renew(current);
      if (answer === 'taken') return 'another process has taken over';
      if (this.#clock.monotonicMs() >= current.leaseEndMs) return 'the lease ended: the database does not answer';
      if (this.#state === 'leading') this.#parts.onExtend(current.leaseEndMs);
    }
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        const found = await this.#contend();
        this.#term = 'waitMs' in found ? undefined : found;
        if (this.#term !== undefined) {
          const reason = await this.#lead(this.#term);
          this.#disconnect();
          this.#term = undefined;
          this.#state = 'standby';
          this.#log.warn('this process no longer controls the site', { reason });
          await this.#parts.onLost(reason);
        }
        await sleep(
          this.#clock,
          'waitMs' in found ? Math.min(this.#pollMs, Math.max(1, found.waitMs)) : this.#pollMs,
          this.#closing.signal,
        );
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        this.#note(error);
        this.#disconnect();
        this.#returned = { mark: undefined };
        this.#seen = undefined;
        await sleep(this.#clock, this.#pollMs, this.#closing.signal).catch(() => undefined);
      }
    }
  }
}
