/**
 * Which write to an action point is accepted: limits and overrides come first [points §7], then rules [rules §6.2]. Among rules, within a
 * cycle the first accepted write wins, and since rules run in priority order that is the highest priority's; `priority_hold_ms`
 * protects it from lower priorities for longer; `max_writes_per_minute` limits how often rules write a point at all. Only accepted
 * writes claim a point.
 */
import { minuteMs } from '../base/timestamp.ts';
import type { PointFacts } from '../site/catalogue.ts';
import type { Authority, ClockTimes, Permitted } from './authority.ts';
import type { Owner, Ownership } from './ownership.ts';

interface Claim {
  cycle: number;
  ruleId: number;
  priority: number;
  holdUntilMs: number;
  /** Times of accepted writes in the last minute; stored only for points with a limit. */
  readonly writtenMs: number[];
}

type Verdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly reason: 'overridden'; readonly by: string }
  | { readonly allowed: false; readonly reason: 'outranked'; readonly by: number }
  | { readonly allowed: false; readonly reason: 'rate-limited' };

/** Overrides and limits, and the record of each point's owners. */
export interface Ladder {
  readonly authority: Authority;
  readonly ownership: Ownership;
}

export interface Arbiter {
  /** Starts a cycle: claims of the previous one no longer count, holds do. */
  beginCycle(now: ClockTimes): void;
  ask(point: PointFacts, ruleId: number, priority: number): Verdict;
  /** The value within all limits of the point. */
  permitted(point: PointFacts, value: number): Permitted;
  /** The write of a rule was accepted. */
  claim(point: PointFacts, ruleId: number, priority: number, permitted: Permitted): void;
  /** How long the last rule that wrote the point is protected from lower priorities; null without a hold. */
  heldUntil(point: PointFacts): { readonly ruleId: number; readonly untilMs: number } | null;
  /** Points claimed since the last call whose hold or write budget must survive a restart. */
  takeClaimed(): PointFacts[];
  /** The claim on a point in its durable form; null if no rule has written it. */
  exportClaim(point: PointFacts, nowMs: number, wallMs: number): StoredClaim | null;
  /** Restores a claim of an earlier process; a wall clock that jumped neither lengthens a hold nor resets a budget early. */
  restoreClaim(point: PointFacts, stored: unknown, nowMs: number, wallMs: number): void;
}

/** Durable form; times as wall milliseconds. */
interface StoredClaim {
  readonly rule: number;
  readonly priority: number;
  readonly hold_until: number;
  readonly written: readonly number[];
}

const allowed: Verdict = { allowed: true };

/** Without overrides and limits: a trial of one rule. */
export function createArbiter(ladder: Ladder | null = null): Arbiter {
  /** By point index; a point without writes has no claim. */
  const claims: (Claim | undefined)[] = [];
  const now = { monotonicMs: 0, wallMs: 0 };
  let cycle = 0;
  let claimed: PointFacts[] = [];

  const verdictOn = (point: PointFacts, ruleId: number, priority: number): Verdict => {
    const override = ladder?.authority.overrideOf(point.index);
    if (override) return { allowed: false, reason: 'overridden', by: override.id };
    const claim = claims[point.index];
    if (claim === undefined) return allowed;
    if (claim.cycle === cycle) return { allowed: false, reason: 'outranked', by: claim.ruleId };
    if (claim.ruleId !== ruleId && priority < claim.priority && now.monotonicMs < claim.holdUntilMs) {
      return { allowed: false, reason: 'outranked', by: claim.ruleId };
    }
    if (point.maxWritesPerMinute === undefined) return allowed;
    const { writtenMs } = claim;
    while (writtenMs.length > 0 && now.monotonicMs - (writtenMs[0] ?? 0) >= minuteMs) writtenMs.shift();
    return writtenMs.length < point.maxWritesPerMinute ? allowed : { allowed: false, reason: 'rate-limited' };
  };

  return {
    beginCycle(moment) {
      now.monotonicMs = moment.monotonicMs;
      now.wallMs = moment.wallMs;
      cycle++;
    },

    ask(point, ruleId, priority) {
      const verdict = verdictOn(point, ruleId, priority);
      if (!verdict.allowed) {
        ladder?.ownership.refused(point.index, { ...ruleOwner(ruleId), reason: verdict.reason, atMs: now.monotonicMs });
      }
      return verdict;
    },

    permitted: (point, value) => ladder?.authority.permitted(point, value) ?? { value, limitedBy: null },

    heldUntil(point) {
      const claim = claims[point.index];
      return claim !== undefined && now.monotonicMs < claim.holdUntilMs
        ? { ruleId: claim.ruleId, untilMs: claim.holdUntilMs }
        : null;
    },

    claim(point, ruleId, priority, { value, limitedBy }) {
      const nowMs = now.monotonicMs;
      if (ladder !== null) {
        const writer = ruleOwner(ruleId);
        ladder.ownership.took(point.index, limitedBy === null ? writer : { kind: 'limit', ...limitedBy }, value, now);
        if (limitedBy !== null) ladder.ownership.refused(point.index, { ...writer, reason: 'limited', atMs: nowMs });
      }
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
        // Of no cycle in this process.
        cycle: -1,
        ruleId: stored.rule,
        priority: stored.priority,
        holdUntilMs: nowMs + Math.min(stored.hold_until - wallMs, point.priorityHoldMs),
        writtenMs: stored.written.map((label) => nowMs - ageMs(label)),
      };
    },
  };
}

/** Its name is looked up for display, because it may change. */
function ruleOwner(ruleId: number): Owner {
  return { kind: 'rule', id: String(ruleId), name: '', untilMs: null };
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
