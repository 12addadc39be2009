/**
 * Warns, in the log and by an alarm [alarms §2.2], while the clock of this machine differs from the database server's (docs/guides/several-machines.md): the processes of a site compare
 * times that each took from its own clock.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { PostgresConnection } from '../storage/postgres.ts';

/** How often it is measured. */
const everyMs = 60_000;

export class ClockWatch {
  readonly #clock: Clock;
  readonly #log: Log;
  /** Permitted difference. */
  readonly #mostMs: number;
  #dueMs = Number.NEGATIVE_INFINITY;
  #differs = false;
  #aheadMs: number | null = null;

  constructor(clock: Clock, log: Log, mostMs: number) {
    this.#clock = clock;
    this.#log = log;
    this.#mostMs = mostMs;
  }

  /** How far this machine's clock was ahead at the last measurement, negative if it was behind; null before the first. */
  aheadMs(): number | null {
    return this.#aheadMs;
  }

  /** Measures it if that is due. */
  async look({ run }: PostgresConnection): Promise<void> {
    const clock = this.#clock;
    if (clock.monotonicMs() < this.#dueMs) return;
    this.#dueMs = clock.monotonicMs() + everyMs;
    const askedMs = clock.wallMs();
    const [row] = await run(`SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms`);
    const byMs = clockDifferenceMs(askedMs, Number(row?.['now_ms']), clock.wallMs());
    this.#aheadMs = byMs;
    const differs = Math.abs(byMs) > this.#mostMs;
    if (differs && !this.#differs)
      this.#log.warn('the clock of this machine differs from the clock of the database server: synchronise them', {
        ahead_ms: Math.round(byMs),
      });
    if (!differs && this.#differs) this.#log.info('the clock of this machine agrees with the database server again');
    this.#differs = differs;
  }
}

/**
 * The least by which this machine's clock can be ahead of the server's, negative if it is behind: the server read its own between question
 * and answer.
 */
export function clockDifferenceMs(askedMs: number, serverMs: number, answeredMs: number): number {
  if (serverMs < askedMs) return askedMs - serverMs;
  return serverMs > answeredMs ? answeredMs - serverMs : 0;
}
