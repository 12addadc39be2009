/**
 * Bounds what refusals write to the audit [audit §6]: of one kind, by one subject, so many in a minute are recorded each for itself;
 * those after them are counted, and one record says how many there were. Nobody fills the disk by being refused.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { GatewayLimits } from './limits.ts';

/** Refusals that one record stands for. */
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
  /** Records what was counted, as the newest refusal would. */
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

  /** Records this refusal, or counts it. `record` is given null for one, or what it stands for. */
  async add(kind: string, record: (many: ManyRefusals | null) => Promise<void>): Promise<void> {
    const nowMs = this.#clock.wallMs();
    const known = this.#tallies.get(kind);
    if (known === undefined) {
      // So many kinds at once are an attack of their own: what was counted is recorded, and counting begins again.
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

  /** Records what was counted; at the end of a minute, and before the service stops. */
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
