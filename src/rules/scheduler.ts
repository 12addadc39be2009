/**
 * The scheduler [rules §6], [rules §3]: data and now in, due rules out. All times are monotonic
 * milliseconds. A tick judges every rule on the snapshot; an event judges only the rules whose points changed; both
 * by the same functions, so that the two paths decide alike.
 */
import type { PointRef } from '../site/catalogue.ts';
import { type Snapshot, usable } from '../site/snapshot.ts';
import type { RunTrigger } from './record.ts';
import { bandOf, type ChangeMemory, isChange, type ValueDeadband } from './trigger/change.ts';
import { type Trigger, triggerKind } from './trigger/index.ts';
import type { TriggerKind } from './trigger/kind.ts';

interface SubscribedPoint {
  readonly index: number;
  readonly maxAgeMs: number;
  readonly ref: PointRef;
}

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

export interface DueRule {
  readonly ruleId: number;
  readonly trigger: RunTrigger;
  /** The moment that decided: the tick's own, or the event's. */
  readonly dueAtMs: number;
}

interface FinishedRun {
  /** False for manual runs: they do not move the interval [rules §3.3]. */
  readonly scheduled: boolean;
  /** Successful, with at least one action performed: starts the cooldown [rules §6.3]. */
  readonly acted: boolean;
  readonly snapshot: Snapshot;
  readonly dueAtMs: number;
  /** When the execution was over: the cooldown counts from here [rules §6.3]. */
  readonly endedMs: number;
}

export interface SchedulerLimits {
  /** An on-change rule runs at most once in this time; a change in between is kept [rules §3.2]. */
  readonly event_min_interval_ms: number;
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

export interface Scheduler {
  /** Takes up rules, new or edited, and lets others go. What a rule remembers outlives an edit that leaves its trigger alone. */
  change(rules: readonly ScheduledRule[], removed: readonly number[]): void;
  /** One change event: the value that was written to a point, and whether it is usable. */
  observe(pointIndex: number, value: number, usable: boolean, nowMs: number): void;
  /** The rules that are due, by priority descending, then id. `nowMs` is the tick's nominal moment on ticks. */
  due(snapshot: Snapshot, mode: 'tick' | 'event', nowMs?: number): DueRule[];
  /** When the first change may fire that the minimum interval holds back; undefined when none is held. */
  heldUntilMs(): number | undefined;
  finished(ruleId: number, run: FinishedRun): void;
  explain(ruleId: number, snapshot: Snapshot): RuleExplanation;
  exportState(ruleId: number, nowMs: number, wallMs: number): StoredSchedule | null;
  /**
   * What of the state must be stored at once when it changes, as text: a cooldown, an anchor, a gate or an interval that
   * lasts longer than `flushMs`. The rest may be older by that after a crash.
   */
  urgentState(ruleId: number, flushMs: number): string;
  /**
   * Takes up state of an earlier process; ages are clamped so that a wall clock that jumped neither fires nor starves.
   * Under another trigger only the cooldown goes on: it protects the actuator.
   */
  restoreState(ruleId: number, stored: unknown, sameTrigger: boolean, nowMs: number, wallMs: number): void;
}

/** Durable form; moments as wall milliseconds, null for never. */
interface StoredSchedule {
  readonly last_scheduled: number | null;
  readonly last_trigger: number | null;
  readonly last_acted: number | null;
  readonly points: readonly { readonly key: string; readonly last: number | null; readonly gap: boolean }[];
}

const never = Number.NEGATIVE_INFINITY;

/** What is remembered of one rule between runs. */
interface Memory {
  lastScheduledMs: number;
  lastTriggerMs: number;
  lastActedMs: number;
  readonly points: ChangeMemory[];
}

interface Entry {
  readonly rule: ScheduledRule;
  readonly kind: TriggerKind<Trigger>;
  readonly memory: Memory;
  /** Place in the order of evaluation. */
  rank: number;
  /** Position of the point whose change event asks for a run; -1 for none. Holds until the next judgement. */
  changed: number;
  touched: boolean;
}

export function createScheduler({ event_min_interval_ms: eventMinMs }: SchedulerLimits): Scheduler {
  const entries = new Map<number, Entry>();
  let order: readonly Entry[] = [];
  const subscribers: Subscribers = new Map();
  let touched: Entry[] = [];
  let heldUntilMs = Number.POSITIVE_INFINITY;

  const entryOf = (ruleId: number): Entry => {
    const entry = entries.get(ruleId);
    if (entry === undefined) throw new Error(`rule ${ruleId} is not scheduled`);
    return entry;
  };

  return {
    change(rules, removed) {
      const renewed = rules.map((rule) => fresh(rule, entries.get(rule.id)));
      const named = [...removed, ...rules.map(({ id }) => id)];
      const gone = new Set(named.flatMap((id) => entries.get(id) ?? []));
      unsubscribe(subscribers, gone);
      for (const id of removed) entries.delete(id);
      for (const entry of renewed) {
        entries.set(entry.rule.id, entry);
        subscribe(subscribers, entry);
      }
      order = merged(
        order.filter((entry) => !gone.has(entry)),
        renewed.toSorted(byRank),
      );
      order.forEach((entry, rank) => {
        entry.rank = rank;
      });
      touched = [...touched.filter((entry) => !gone.has(entry)), ...renewed.filter((entry) => entry.touched)];
    },

    observe(pointIndex, value, isUsable) {
      for (const { entry, position } of subscribers.get(pointIndex) ?? []) {
        note(entry, position, isUsable ? value : Number.NaN);
        if (!entry.touched) {
          entry.touched = true;
          touched.push(entry);
        }
      }
    },

    due(snapshot, mode, nowMs = snapshot.monotonicMs) {
      const judged = mode === 'tick' ? order : touched.sort((a, b) => a.rank - b.rank);
      const due: DueRule[] = [];
      const held: Entry[] = [];
      heldUntilMs = Number.POSITIVE_INFINITY;
      for (const entry of judged) {
        if (!isDue(entry, snapshot, nowMs, mode)) continue;
        const freeMs = entry.memory.lastTriggerMs + eventMinMs;
        if (entry.kind.onEvents && freeMs > nowMs) {
          heldUntilMs = Math.min(heldUntilMs, freeMs);
          held.push(entry);
        } else {
          due.push({ ruleId: entry.rule.id, trigger: runTrigger(entry), dueAtMs: nowMs });
          entry.changed = -1;
        }
      }
      for (const entry of touched) entry.touched = false;
      for (const entry of held) entry.touched = true;
      touched = held;
      return due;
    },

    heldUntilMs: () => (heldUntilMs === Number.POSITIVE_INFINITY ? undefined : heldUntilMs),

    finished(ruleId, run) {
      const entry = entries.get(ruleId);
      // The rule was removed while it ran; nothing is left to remember.
      if (entry === undefined) return;
      const { memory, rule } = entry;
      if (run.scheduled) {
        memory.lastScheduledMs = run.dueAtMs;
        memory.lastTriggerMs = run.dueAtMs;
      }
      if (run.acted) memory.lastActedMs = run.endedMs;
      rule.points.forEach((point, position) => consume(memory.points[position], point, run.snapshot));
      entry.changed = -1;
    },

    explain: (ruleId, snapshot) => explain(entryOf(ruleId), snapshot),

    exportState(ruleId, nowMs, wallMs) {
      const entry = entries.get(ruleId);
      if (entry === undefined) return null;
      const label = (ms: number): number | null => (ms === never ? null : wallMs - (nowMs - ms));
      const { memory, rule } = entry;
      return {
        last_scheduled: label(memory.lastScheduledMs),
        last_trigger: label(memory.lastTriggerMs),
        last_acted: label(memory.lastActedMs),
        points: rule.points.map((point, position) => {
          const { last = Number.NaN, gap = false } = memory.points[position] ?? {};
          return { key: keyOf(point.ref), last: finiteOrNull(last), gap };
        }),
      };
    },

    urgentState(ruleId, flushMs) {
      const entry = entries.get(ruleId);
      if (entry === undefined) return '';
      const { memory, rule, kind } = entry;
      const parts: (number | string)[] = [rule.cooldown_ms > 0 ? memory.lastActedMs : ''];
      if (kind.gateMs(rule.trigger) > flushMs) parts.push(memory.lastTriggerMs);
      for (const { last, gap } of memory.points) parts.push(last, gap ? 'gap' : '');
      return parts.join(' ');
    },

    restoreState(ruleId, stored, sameTrigger, nowMs, wallMs) {
      const { memory, rule } = entryOf(ruleId);
      if (!isStoredSchedule(stored)) return;
      const moment = (label: number | null): number => (label === null ? never : nowMs - Math.max(0, wallMs - label));
      memory.lastActedMs = moment(stored.last_acted);
      if (!sameTrigger) return;
      memory.lastScheduledMs = moment(stored.last_scheduled);
      memory.lastTriggerMs = moment(stored.last_trigger);
      const byKey = new Map(stored.points.map((point) => [point.key, point]));
      rule.points.forEach((point, position) => {
        const known = byKey.get(keyOf(point.ref));
        const own = memory.points[position];
        if (known === undefined || own === undefined) return;
        own.last = known.last ?? Number.NaN;
        own.gap = known.gap;
      });
    },
  };
}

function byRank(a: Entry, b: Entry): number {
  return b.rule.priority - a.rule.priority || a.rule.id - b.rule.id;
}

/** The entry of a rule that is new or was edited; what events asked for and was not judged yet still stands. */
function fresh(rule: ScheduledRule, old: Entry | undefined): Entry {
  const stands = old?.touched === true && old.rule.triggerText === rule.triggerText;
  const changed = stands ? old.changed : -1;
  return { rule, kind: triggerKind(rule.trigger.type), memory: carried(old, rule), rank: 0, changed, touched: stands };
}

function carried(old: Entry | undefined, rule: ScheduledRule): Memory {
  if (old !== undefined && old.rule.triggerText === rule.triggerText) return old.memory;
  return {
    lastScheduledMs: never,
    lastTriggerMs: never,
    // The cooldown protects the actuator, whatever the trigger is now.
    lastActedMs: old?.memory.lastActedMs ?? never,
    points: rule.points.map(() => ({ last: Number.NaN, gap: false })),
  };
}

type Subscribers = Map<number, { readonly entry: Entry; readonly position: number }[]>;

function subscribe(subscribers: Subscribers, entry: Entry): void {
  entry.rule.points.forEach((point, position) => {
    const list = subscribers.get(point.index);
    if (list === undefined) subscribers.set(point.index, [{ entry, position }]);
    else list.push({ entry, position });
  });
}

function unsubscribe(subscribers: Subscribers, gone: ReadonlySet<Entry>): void {
  const points = new Set([...gone].flatMap(({ rule }) => rule.points.map(({ index }) => index)));
  for (const point of points) {
    const left = subscribers.get(point)?.filter(({ entry }) => !gone.has(entry)) ?? [];
    if (left.length > 0) subscribers.set(point, left);
    else subscribers.delete(point);
  }
}

/** Two lists that are in order, as one. */
function merged(some: readonly Entry[], others: readonly Entry[]): readonly Entry[] {
  const all: Entry[] = [];
  let at = 0;
  for (const other of others) {
    for (let entry = some[at]; entry !== undefined && byRank(entry, other) < 0; entry = some[++at]) all.push(entry);
    all.push(other);
  }
  return all.concat(some.slice(at));
}

/** Takes note of one value of a subscribed point: a gap is remembered, a change asks for a run. */
function note(entry: Entry, position: number, value: number): void {
  const memory = entry.memory.points[position];
  if (memory === undefined) throw new Error('point outside the trigger');
  if (value - value !== 0) memory.gap = true;
  else if (entry.changed === -1 && isChange(memory, value, entry.kind.deadband(entry.rule.trigger)))
    entry.changed = position;
}

/**
 * Whether the rule is due now. A change that meets a closed gate is judged again when the gate opens. The mark of
 * a change outlives the judgement only where the rule is due.
 */
function isDue(entry: Entry, snapshot: Snapshot, nowMs: number, mode: 'tick' | 'event'): boolean {
  const { rule, memory, kind } = entry;
  if (rule.enabled) {
    // Other kinds have no points. Skipping their empty lists saves a cache miss per rule.
    if (kind.onEvents) noteAll(entry, snapshot);
    const due = kind.isDue(rule.trigger, memory, nowMs, mode, entry.changed !== -1);
    if (due && rule.runnable && cooledDown(entry, nowMs)) return true;
  }
  // Avoids a memory write for the many rules that are not due.
  if (entry.changed !== -1) entry.changed = -1;
  return false;
}

function noteAll(entry: Entry, snapshot: Snapshot): void {
  const { points } = entry.rule;
  for (let position = 0; position < points.length; position++) {
    const { index, maxAgeMs } = points[position] as SubscribedPoint;
    note(entry, position, usable(snapshot, index, maxAgeMs) ? (snapshot.values[index] as number) : Number.NaN);
  }
}

/** What the record says of why the rule ran. */
function runTrigger({ rule, kind, changed }: Entry): RunTrigger {
  const { type } = kind;
  // An index of -1 would make the array lookup slow.
  const point = changed === -1 ? undefined : rule.points[changed];
  if (point === undefined) return { type };
  const { instance, point_type, point: number } = point.ref;
  return { type, point: { instance, point_type, point: number } };
}

function cooledDown({ rule, memory }: Entry, nowMs: number): boolean {
  return nowMs - memory.lastActedMs >= rule.cooldown_ms;
}

/** A run consumes the change: the last value becomes what the run's snapshot held [rules §3.2]. */
function consume(memory: ChangeMemory | undefined, point: SubscribedPoint, snapshot: Snapshot): void {
  if (memory === undefined) throw new Error('point outside the trigger');
  if (!usable(snapshot, point.index, point.maxAgeMs)) {
    memory.gap = true;
    return;
  }
  memory.last = snapshot.values[point.index] ?? Number.NaN;
  memory.gap = false;
}

function explain({ rule, memory, kind }: Entry, snapshot: Snapshot): RuleExplanation {
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

function keyOf(ref: PointRef): string {
  return `${ref.instance}:${ref.point_type}:${ref.point}`;
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

function isStoredSchedule(value: unknown): value is StoredSchedule {
  if (typeof value !== 'object' || value === null) return false;
  const moments = ['last_scheduled', 'last_trigger', 'last_acted'].map((name) => Reflect.get(value, name) as unknown);
  const points: unknown = Reflect.get(value, 'points');
  return (
    moments.every((moment) => moment === null || typeof moment === 'number') &&
    Array.isArray(points) &&
    points.every(isStoredPoint)
  );
}

function isStoredPoint(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const last: unknown = Reflect.get(value, 'last');
  const isFlag = typeof Reflect.get(value, 'gap') === 'boolean';
  return typeof Reflect.get(value, 'key') === 'string' && isFlag && (last === null || typeof last === 'number');
}
