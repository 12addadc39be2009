/**
 * Who may write an action point [rules §6.2]: within a cycle the first accepted write stands, and since rules
 * run in priority order that is the highest priority's; `priority_hold_ms` keeps it against lower ones for longer;
 * `max_writes_per_minute` bounds how often a point is written at all. Only accepted writes claim a point.
 */
import type { PointFacts } from '../site/catalogue.ts';

interface Claim {
  cycle: number;
  ruleId: number;
  priority: number;
  holdUntilMs: number;
  /** Moments of accepted writes in the last minute; kept only for points with a limit. */
  readonly writtenMs: number[];
}

type Verdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly reason: 'outranked'; readonly by: number }
  | { readonly allowed: false; readonly reason: 'rate-limited' };

export interface Arbiter {
  /** Begins a cycle: claims of the one before no longer count, holds do. */
  beginCycle(): void;
  ask(point: PointFacts, ruleId: number, priority: number, nowMs: number): Verdict;
  /** The write was accepted. */
  claim(point: PointFacts, ruleId: number, priority: number, nowMs: number): void;
  /** Points claimed since the last call whose hold or write budget must outlive a restart. */
  takeClaimed(): PointFacts[];
  /** The claim on a point in its durable form; null when nobody has written it. */
  exportClaim(point: PointFacts, nowMs: number, wallMs: number): StoredClaim | null;
  /** Takes up a claim of an earlier process; a wall clock that jumped neither lengthens a hold nor frees a budget early. */
  restoreClaim(point: PointFacts, stored: unknown, nowMs: number, wallMs: number): void;
}

/** Durable form; moments as wall milliseconds. */
interface StoredClaim {
  readonly rule: number;
  readonly priority: number;
  readonly hold_until: number;
  readonly written: readonly number[];
}

const minuteMs = 60_000;
const allowed: Verdict = { allowed: true };

export function createArbiter(): Arbiter {
  /** By point index; a point nobody has written has no claim. */
  const claims: (Claim | undefined)[] = [];
  let cycle = 0;
  let claimed: PointFacts[] = [];

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
      if (point.priorityHoldMs > 0 || point.maxWritesPerMinute !== undefined) claimed.push(point);
    },

    takeClaimed() {
      const taken = claimed;
      if (taken.length > 0) claimed = [];
      return taken;
    },

    exportClaim(point, nowMs, wallMs) {
      const claim = claims[point.index];
      if (claim === undefined) return null;
      const label = (ms: number): number => wallMs + ms - nowMs;
      return {
        rule: claim.ruleId,
        priority: claim.priority,
        hold_until: label(claim.holdUntilMs),
        written: claim.writtenMs.map(label),
      };
    },

    restoreClaim(point, stored, nowMs, wallMs) {
      if (!isStoredClaim(stored)) return;
      const ageMs = (label: number): number => Math.max(0, wallMs - label);
      claims[point.index] = {
        // Of no cycle of this process.
        cycle: -1,
        ruleId: stored.rule,
        priority: stored.priority,
        holdUntilMs: nowMs + Math.min(stored.hold_until - wallMs, point.priorityHoldMs),
        writtenMs: stored.written.map((label) => nowMs - ageMs(label)),
      };
    },
  };
}

function isStoredClaim(value: unknown): value is StoredClaim {
  if (typeof value !== 'object' || value === null) return false;
  const numbers = ['rule', 'priority', 'hold_until'].map((name) => Reflect.get(value, name) as unknown);
  const written: unknown = Reflect.get(value, 'written');
  return (
    numbers.every((each) => typeof each === 'number' && Number.isFinite(each)) &&
    Array.isArray(written) &&
    written.every((each) => typeof each === 'number' && Number.isFinite(each))
  );
}
