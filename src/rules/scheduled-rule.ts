/** A rule as the scheduler knows it, what it remembers of it, and the answer to why it does not run [rules §3], [rules §6]. */
import type { PointRef } from '../site/catalogue.ts';
import { type Snapshot, usable } from '../site/snapshot.ts';
import { bandOf, type ChangeMemory, type ValueDeadband } from './trigger/change.ts';
import type { Trigger } from './trigger/index.ts';
import type { TriggerKind } from './trigger/kind.ts';
import type { SubscribedPoint } from './watched-points.ts';

export interface ScheduledRule {
  readonly id: number;
  readonly priority: number;
  readonly enabled: boolean;
  readonly runnable: boolean;
  readonly cooldown_ms: number;
  readonly trigger: Trigger;
  /** Canonical text of the trigger: state is carried over while it stays the same. */
  readonly triggerText: string;
  /** The trigger's points, in its order; empty for an interval. */
  readonly points: readonly SubscribedPoint[];
}

/** The memory of one rule between runs. */
export interface RuleMemory {
  lastScheduledMs: number;
  lastTriggerMs: number;
  lastActedMs: number;
  readonly points: ChangeMemory[];
}

export interface RuleExplanation {
  readonly state: 'waiting' | 'cooldown' | 'disabled' | 'not-runnable';
  readonly reasons: readonly { readonly code: string }[];
  readonly next_due_at_ms: number | null;
  readonly cooldown_until_ms: number | null;
  readonly points: readonly {
    readonly ref: PointRef;
    readonly last_value: number | null;
    readonly current_value: number | null;
    readonly distance: number | null;
    readonly threshold: number | null;
    readonly gap: boolean;
  }[];
}

interface Explained {
  readonly rule: ScheduledRule;
  readonly kind: TriggerKind<Trigger>;
  readonly memory: RuleMemory;
}

export function whyNotDue({ rule, memory, kind }: Explained, snapshot: Snapshot): RuleExplanation {
  const nowMs = snapshot.monotonicMs;
  const coolUntilMs = memory.lastActedMs + rule.cooldown_ms;
  const cooling = coolUntilMs > nowMs;
  const points = rule.points.map((point, position) =>
    explainPoint(point, memory.points[position], kind.deadband(rule.trigger), snapshot),
  );
  const reasons: { code: string }[] = [];
  if (!rule.enabled) reasons.push({ code: 'disabled' });
  if (!rule.runnable) reasons.push({ code: 'not-runnable' });
  if (cooling) reasons.push({ code: 'cooldown' });
  const now = {
    someUnavailable: points.some((point) => point.current_value === null),
    noneChanged: points.every((point) => !beyond(point)),
  };
  for (const code of kind.reasons(rule.trigger, memory, nowMs, now)) reasons.push({ code });
  const state = !rule.enabled ? 'disabled' : !rule.runnable ? 'not-runnable' : cooling ? 'cooldown' : 'waiting';
  return {
    state,
    reasons,
    next_due_at_ms: nextDue(rule, kind.nextDueMs(rule.trigger, memory), cooling ? coolUntilMs : nowMs, nowMs),
    cooldown_until_ms: cooling ? coolUntilMs : null,
    points,
  };
}

function nextDue(rule: ScheduledRule, dueMs: number | null, gateMs: number, nowMs: number): number | null {
  return dueMs === null || !rule.enabled || !rule.runnable ? null : Math.max(nowMs, gateMs, dueMs);
}

type ExplainedPoint = RuleExplanation['points'][number];

function beyond(point: ExplainedPoint): boolean {
  if (point.current_value === null) return false;
  return point.gap || point.distance === null || point.threshold === null || point.distance > point.threshold;
}

function explainPoint(
  point: SubscribedPoint,
  memory: ChangeMemory | undefined,
  deadband: ValueDeadband | null,
  snapshot: Snapshot,
): ExplainedPoint {
  const { last = Number.NaN, gap = false } = memory ?? {};
  const current = usable(snapshot, point.index, point.maxAgeMs)
    ? (snapshot.values[point.index] ?? Number.NaN)
    : Number.NaN;
  return {
    ref: point.ref,
    last_value: finiteOrNull(last),
    current_value: finiteOrNull(current),
    distance: finiteOrNull(Math.abs(current - last)),
    threshold: finiteOrNull(bandOf(last, deadband)),
    gap,
  };
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
