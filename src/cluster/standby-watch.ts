/**
 * Watches whether another process of the site is connected that could take over [alarms §2.2]. A machine that has failed may leave its
 * connection behind: only one that was used lately counts, and each process uses its own every second.
 */
import type { Clock } from '../base/clock.ts';
import { answersOnly, isHeld, type PostgresConnection } from '../storage/postgres.ts';

interface StandbyLimits {
  /** How often the server is asked. */
  readonly lookMs: number;
  /** A connection that was not used for this time counts as gone. */
  readonly unusedMs: number;
}

export class StandbyWatch {
  readonly #clock: Clock;
  readonly #lookMs: number;
  readonly #isOther: string;
  #dueMs = Number.NEGATIVE_INFINITY;
  #known: boolean | null = null;
  /** Another one was connected since this process started. */
  #seen = false;

  constructor(clock: Clock, schema: string, { lookMs, unusedMs }: StandbyLimits = { lookMs: 5000, unusedMs: 15_000 }) {
    this.#clock = clock;
    this.#lookMs = lookMs;
    this.#isOther = `${isHeld(schema, 'process')} AND pid <> pg_backend_pid()
      AND application_name NOT LIKE '% ${answersOnly}'
      AND state_change > clock_timestamp() - interval '${unusedMs} milliseconds'`;
  }

  /** True if one was connected and none is; null while the server does not answer. */
  isMissing(): boolean | null {
    return this.#known === null ? null : this.#seen && !this.#known;
  }

  /** Asks on the connection that this process shows itself with, if that is due. A refused query must not end the connection, on which messages arrive. */
  async look({ run }: PostgresConnection): Promise<void> {
    if (this.#clock.monotonicMs() < this.#dueMs) return;
    this.#dueMs = this.#clock.monotonicMs() + this.#lookMs;
    const rows = await run(
      `SELECT EXISTS (SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE ${this.#isOther}) AS known`,
    ).catch(() => null);
    this.#known = rows === null ? null : rows[0]?.['known'] === true;
    this.#seen ||= this.#known === true;
  }

  /** The connection is lost. */
  lost(): void {
    this.#known = null;
    this.#dueMs = Number.NEGATIVE_INFINITY;
  }
}
