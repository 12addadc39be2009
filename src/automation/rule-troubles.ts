/** Rules whose recent runs have all failed, or have all been skipped, which raises alarms [alarms §2.2]. */
import type { ExecutionRecord } from '../rules/record.ts';

export interface RuleTrouble {
  readonly rule_id: number;
  readonly outcome: 'failed' | 'skipped';
  /** Why the last run failed or was skipped. */
  readonly reason: string;
}

/** Number of runs in a row, and their time span in milliseconds. */
export interface TroubleQuestion {
  readonly runs: number;
  readonly ms: number;
}

interface Streak {
  readonly revision: number;
  readonly outcome: RuleTrouble['outcome'];
  readonly sinceMs: number;
  runs: number;
  reason: string;
}

/** In monotonic milliseconds. */
export class RuleTroubles {
  readonly #streaks = new Map<number, Streak>();

  ran({ rule_id: id, rule_revision: revision, outcome, error }: ExecutionRecord, nowMs: number): void {
    if (outcome !== 'failed' && outcome !== 'skipped') {
      this.#streaks.delete(id);
      return;
    }
    const reason = error?.message ?? outcome;
    const streak = this.#streaks.get(id);
    if (streak?.revision !== revision || streak.outcome !== outcome) {
      this.#streaks.set(id, { revision, outcome, sinceMs: nowMs, runs: 1, reason });
      return;
    }
    streak.runs++;
    streak.reason = reason;
  }

  /** `isLive`: whether the rule is still enabled in that revision. */
  last({ runs, ms }: TroubleQuestion, nowMs: number, isLive: (id: number, revision: number) => boolean): RuleTrouble[] {
    const found: RuleTrouble[] = [];
    for (const [id, streak] of this.#streaks) {
      if (!isLive(id, streak.revision)) this.#streaks.delete(id);
      else if (streak.runs >= runs && nowMs - streak.sinceMs >= ms)
        found.push({ rule_id: id, outcome: streak.outcome, reason: streak.reason });
    }
    return found;
  }
}
