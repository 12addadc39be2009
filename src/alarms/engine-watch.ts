/** What the counters of the engine say over time [alarms §2.2]: the share of ticks that it missed, and whether it lost records. */
import type { EngineStatus } from '../automation/engine-contract.ts';

type EngineCounts = Pick<EngineStatus, 'tick_interval_ms' | 'overruns' | 'records_dropped'>;

interface Seen {
  readonly atMs: number;
  readonly missed: number;
}

export class EngineWatch {
  readonly #windowMs: number;
  /** Oldest first; at most one of them is older than the window. */
  #seen: Seen[] = [];
  #tickMs = 0;
  #lost = 0;
  #lostMs: number | null = null;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Null: no engine answered. */
  look(nowMs: number, counts: EngineCounts | null): void {
    if (counts === null) return;
    const { overruns: missed, records_dropped: lost, tick_interval_ms: tickMs } = counts;
    // Another engine counts from 0.
    const isSame = lost >= this.#lost && missed >= (this.#seen.at(-1)?.missed ?? 0);
    if (!isSame) this.#seen = [];
    if (lost > (isSame ? this.#lost : 0)) this.#lostMs = nowMs;
    this.#lost = lost;
    this.#tickMs = tickMs;
    this.#seen.push({ atMs: nowMs, missed });
    while (nowMs - (this.#seen[1]?.atMs ?? nowMs) >= this.#windowMs) this.#seen.shift();
  }

  /** Share of the ticks of the last window; null until one engine was seen for that long. */
  missedShare(): number | null {
    const [first, last] = [this.#seen[0], this.#seen.at(-1)];
    if (first === undefined || last === undefined || last.atMs - first.atMs < this.#windowMs) return null;
    return ((last.missed - first.missed) * this.#tickMs) / (last.atMs - first.atMs);
  }

  /** Monotonic milliseconds of the last loss; null without one. */
  recordsLostMs(): number | null {
    return this.#lostMs;
  }
}
