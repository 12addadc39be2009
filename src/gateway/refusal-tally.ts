/**
 * Limits what refusals write to the audit [audit §6]: per kind and subject, a number of refusals per minute is recorded individually;
 * further ones are counted, and one record has their number. Nobody can fill the disk with refused requests.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { GatewayLimits } from './limits.ts';

/** Refusals summarized in one record. */
export interface ManyRefusals {
  readonly count: number;
  /** Wall clock. */
  readonly fromMs: number;
  readonly toMs: number;
}

interface Tally {
  recorded: number;
  count: number;
  fromMs: number;
  toMs: number;
  /** Records the counted refusals, as the newest one would be. */
  record: (many: ManyRefusals) => Promise<void>;
}

const windowMs = 60_000;

export class RefusalTally {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits: Pick<GatewayLimits, 'refusals_recorded_per_minute' | 'refusal_kinds_max'>;
  readonly #tallies = new Map<string, Tally>();
  #timer: Timer | undefined;

  constructor(
    clock: Clock,
    log: Log,
    limits: Pick<GatewayLimits, 'refusals_recorded_per_minute' | 'refusal_kinds_max'>,
  ) {
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
  }

  /** Records this refusal, or counts it. `record` receives null for a single refusal, or the summary. */
  async add(kind: string, record: (many: ManyRefusals | null) => Promise<void>): Promise<void> {
    const nowMs = this.#clock.wallMs();
    const known = this.#tallies.get(kind);
    if (known === undefined) {
      // Too many kinds at once are an attack of their own: the counts are recorded, and counting restarts.
      if (this.#tallies.size >= this.#limits.refusal_kinds_max) await this.flush();
      this.#tallies.set(kind, { recorded: 1, count: 0, fromMs: nowMs, toMs: nowMs, record });
      this.#timer ??= this.#clock.after(windowMs, () => void this.flush());
      return record(null);
    }
    if (known.recorded < this.#limits.refusals_recorded_per_minute) {
      known.recorded++;
      return record(null);
    }
    if (known.count === 0) known.fromMs = nowMs;
    known.count++;
    known.toMs = nowMs;
    known.record = record;
  }

  /** Records the counts; at the end of a minute, and at shutdown. */
  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const tallies = [...this.#tallies.values()];
    this.#tallies.clear();
    for (const { count, fromMs, toMs, record } of tallies) {
      if (count === 0) continue;
      await record({ count, fromMs, toMs }).catch((error: unknown) =>
        this.#log.error('cannot record how many calls were refused', { count, err: error }),
      );
    }
  }
}
