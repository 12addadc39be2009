/**
 * Who may write an action point (decisions §2.5): within a cycle the first accepted write stands, and since rules
 * run in priority order that is the highest priority's; `priority_hold_ms` keeps it against lower ones for longer;
 * `max_writes_per_minute` bounds how often a point is written at all. Only accepted writes claim a point.
 */
import type { PointFacts } from './catalogue.ts';

interface Claim {
  cycle: number;
  ruleId: number;
  priority: number;
  holdUntilMs: number;
  /** Moments of accepted writes in the last minute; kept only for points with a limit. */
  readonly writtenMs: number[];
}

export type Verdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly reason: 'outranked'; readonly by: number }
  | { readonly allowed: false; readonly reason: 'rate-limited' };

export interface Arbiter {
  /** Begins a cycle: claims of the one before no longer count, holds do. */
  beginCycle(): void;
  ask(point: PointFacts, ruleId: number, priority: number, nowMs: number): Verdict;
  /** The write was accepted. */
  claim(point: PointFacts, ruleId: number, priority: number, nowMs: number): void;
}

const minuteMs = 60_000;
const allowed: Verdict = { allowed: true };

export function createArbiter(): Arbiter {
  /** By point index; a point nobody has written has no claim. */
  const claims: (Claim | undefined)[] = [];
  let cycle = 0;

  return {
    beginCycle() {
      cycle++;
    },

    ask(point, ruleId, priority, nowMs) {
      const claim = claims[point.index];
      if (claim === undefined) return allowed;
      if (claim.cycle === cycle) return { allowed: false, reason: 'outranked', by: claim.ruleId };
      if (claim.ruleId !== ruleId && priority < claim.priority && nowMs < claim.holdUntilMs) {
        return { allowed: false, reason: 'outranked', by: claim.ruleId };
      }
      if (point.maxWritesPerMinute === undefined) return allowed;
      while (claim.writtenMs.length > 0 && nowMs - (claim.writtenMs[0] ?? 0) >= minuteMs) claim.writtenMs.shift();
      return claim.writtenMs.length < point.maxWritesPerMinute ? allowed : { allowed: false, reason: 'rate-limited' };
    },

    claim(point, ruleId, priority, nowMs) {
      let claim = claims[point.index];
      if (claim === undefined) {
        claim = { cycle, ruleId, priority, holdUntilMs: 0, writtenMs: [] };
        claims[point.index] = claim;
      }
      claim.cycle = cycle;
      claim.ruleId = ruleId;
      claim.priority = priority;
      claim.holdUntilMs = nowMs + point.priorityHoldMs;
      if (point.maxWritesPerMinute !== undefined) claim.writtenMs.push(nowMs);
    },
  };
}
