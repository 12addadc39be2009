/**
 * The scheduler [rules §6], [rules §3]: data and now in, due rules out. All times are monotonic
 * milliseconds. An event judges the rules whose points changed; a tick judges also those that time may make due and those of
 * points that look different on the snapshot; both by the same functions, so that the two paths decide alike.
 */
import type { PointRef } from '../site/catalogue.ts';
import { type Snapshot, usable } from '../site/snapshot.ts';
import type { RunTrigger } from './record.ts';
import { type RuleExplanation, type RuleMemory, type ScheduledRule, whyNotDue } from './scheduled-rule.ts';
import { type ChangeMemory, isChange } from './trigger/change.ts';
import { type Trigger, triggerKind } from './trigger/index.ts';
import type { TriggerKind } from './trigger/kind.ts';
import { type SubscribedPoint, WatchedPoints } from './watched-points.ts';

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

export interface Scheduler {
  /** Takes up new and edited rules, and removes others. The memory of a rule outlives an edit that leaves its trigger alone. */
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
   * The part of the state that must be stored at once when it changes, as text: a cooldown, an anchor, a gate or an interval that
   * lasts longer than `flushMs`. The rest may be older by that after a crash.
   */
  urgentState(ruleId: number, flushMs: number): string;
  /**
   * Takes up state of an earlier process; ages are clamped so that a wall clock that jumped neither fires nor starves.
   * Under another trigger only the cooldown continues: it protects the actuator.
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

interface Entry {
  readonly rule: ScheduledRule;
  readonly kind: TriggerKind<Trigger>;
  readonly memory: RuleMemory;
  /** Place in the order of evaluation. */
  rank: number;
  /** Position of the point whose change event asks for a run; -1 for none. Holds until the next judgement. */
  changed: number;
  /** An event asks for a judgement, now or at the next tick. */
  touched: boolean;
}

export function createScheduler(limits: SchedulerLimits): Scheduler {
  return new RuleScheduler(limits);
}

class RuleScheduler implements Scheduler {
  readonly #eventMinMs: number;
  readonly #entries = new Map<number, Entry>();
  #order: readonly Entry[] = [];
  /** Those that time alone may make due: each tick judges all of them. */
  #timed: readonly Entry[] = [];
  readonly #watched = new WatchedPoints<Entry>();
  #touched: Entry[] = [];
  /** Those that the next tick judges again, whether their points show something new or not. */
  readonly #waiting = new Set<Entry>();
  #heldUntilMs = Number.POSITIVE_INFINITY;

  constructor({ event_min_interval_ms }: SchedulerLimits) {
    this.#eventMinMs = event_min_interval_ms;
  }

  change(rules: readonly ScheduledRule[], removed: readonly number[]): void {
    const entries = this.#entries;
    const renewed = rules.map((rule) => fresh(rule, entries.get(rule.id)));
    const named = [...removed, ...rules.map(({ id }) => id)];
    const gone = new Set(named.flatMap((id) => entries.get(id) ?? []));
    this.#watched.remove(gone);
    for (const id of removed) entries.delete(id);
    for (const entry of renewed) {
      entries.set(entry.rule.id, entry);
      this.#watched.add(entry);
    }
    this.#order = merged(
      this.#order.filter((entry) => !gone.has(entry)),
      renewed.toSorted(byRank),
    );
    this.#order.forEach((entry, rank) => {
      entry.rank = rank;
    });
    this.#timed = this.#order.filter(({ kind }) => !kind.onEvents);
    this.#touched = [...this.#touched.filter((entry) => !gone.has(entry)), ...renewed.filter(({ touched }) => touched)];
    for (const entry of gone) this.#waiting.delete(entry);
    for (const entry of renewed) this.#wait(entry);
  }

  observe(pointIndex: number, value: number, isUsable: boolean): void {
    const seen = isUsable ? value : Number.NaN;
    this.#watched.observe(pointIndex, seen, (entry, position) => {
      note(entry, position, seen);
      this.#touch(entry);
    });
  }

  due(snapshot: Snapshot, mode: 'tick' | 'event', nowMs = snapshot.monotonicMs): DueRule[] {
    const judged = mode === 'tick' ? this.#judgedAtTick(snapshot) : this.#touched.sort(byPlace);
    const due: DueRule[] = [];
    let held: Entry[] | null = null;
    this.#heldUntilMs = Number.POSITIVE_INFINITY;
    for (const entry of judged) {
      const isNow = isDue(entry, snapshot, nowMs, mode);
      // A change that meets a closed gate, and one whose run may never come.
      if (entry.changed !== -1) this.#wait(entry);
      if (!isNow) {
        forgetChange(entry);
        continue;
      }
      const freeMs = entry.kind.onEvents ? entry.memory.lastTriggerMs + this.#eventMinMs : nowMs;
      if (freeMs > nowMs) {
        this.#heldUntilMs = Math.min(this.#heldUntilMs, freeMs);
        held ??= [];
        held.push(entry);
      } else {
        due.push({ ruleId: entry.rule.id, trigger: runTrigger(entry), dueAtMs: nowMs });
        entry.changed = -1;
      }
    }
    if (held === null && this.#touched.length === 0) return due;
    for (const entry of this.#touched) entry.touched = false;
    this.#touched = held ?? [];
    for (const entry of this.#touched) entry.touched = true;
    return due;
  }

  heldUntilMs(): number | undefined {
    return this.#heldUntilMs === Number.POSITIVE_INFINITY ? undefined : this.#heldUntilMs;
  }

  finished(ruleId: number, run: FinishedRun): void {
    const entry = this.#entries.get(ruleId);
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
    // The awaited change is consumed.
    this.#waiting.delete(entry);
  }

  explain(ruleId: number, snapshot: Snapshot): RuleExplanation {
    return whyNotDue(this.#entryOf(ruleId), snapshot);
  }

  exportState(ruleId: number, nowMs: number, wallMs: number): StoredSchedule | null {
    const entry = this.#entries.get(ruleId);
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
  }

  urgentState(ruleId: number, flushMs: number): string {
    const entry = this.#entries.get(ruleId);
    if (entry === undefined) return '';
    const { memory, rule, kind } = entry;
    const parts: (number | string)[] = [rule.cooldown_ms > 0 ? memory.lastActedMs : ''];
    if (kind.gateMs(rule.trigger) > flushMs) parts.push(memory.lastTriggerMs);
    for (const { last, gap } of memory.points) parts.push(last, gap ? 'gap' : '');
    return parts.join(' ');
  }

  restoreState(ruleId: number, stored: unknown, sameTrigger: boolean, nowMs: number, wallMs: number): void {
    const entry = this.#entryOf(ruleId);
    const { memory, rule } = entry;
    if (!isStoredSchedule(stored)) return;
    // It was judged by another memory, if at all.
    this.#wait(entry);
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
  }

  #entryOf(ruleId: number): Entry {
    const entry = this.#entries.get(ruleId);
    if (entry === undefined) throw new Error(`rule ${ruleId} is not scheduled`);
    return entry;
  }

  /** The next judgement looks at it. */
  readonly #touch = (entry: Entry): void => {
    if (entry.touched) return;
    entry.touched = true;
    this.#touched.push(entry);
  };

  #wait(entry: Entry): void {
    if (entry.kind.onEvents) this.#waiting.add(entry);
  }

  /** All rules that a tick may find due, in order. */
  #judgedAtTick(snapshot: Snapshot): readonly Entry[] {
    this.#watched.sample(snapshot, this.#touch);
    if (this.#waiting.size > 0) {
      this.#waiting.forEach(this.#touch);
      this.#waiting.clear();
    }
    return this.#touched.length === 0 ? this.#timed : merged(this.#timed, this.#touched.sort(byPlace));
  }
}

function byPlace(a: Entry, b: Entry): number {
  return a.rank - b.rank;
}

function byRank(a: Entry, b: Entry): number {
  return b.rule.priority - a.rule.priority || a.rule.id - b.rule.id;
}

/** The entry of a rule that is new or was edited; a pending event of an unchanged trigger is kept. */
function fresh(rule: ScheduledRule, old: Entry | undefined): Entry {
  const pending = old?.touched === true && old.rule.triggerText === rule.triggerText;
  const changed = pending ? old.changed : -1;
  const kind = triggerKind(rule.trigger.type);
  return { rule, kind, memory: carried(old, rule), rank: 0, changed, touched: pending };
}

function carried(old: Entry | undefined, rule: ScheduledRule): RuleMemory {
  if (old !== undefined && old.rule.triggerText === rule.triggerText) return old.memory;
  return {
    lastScheduledMs: never,
    lastTriggerMs: never,
    // The cooldown protects the actuator, whatever the trigger is now.
    lastActedMs: old?.memory.lastActedMs ?? never,
    points: rule.points.map(() => ({ last: Number.NaN, gap: false })),
  };
}

/** Two lists that are in order, as one. */
function merged(some: readonly Entry[], others: readonly Entry[]): readonly Entry[] {
  if (others.length === 0) return some;
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
  if (!rule.enabled) return false;
  // Other kinds have no points. Skipping their empty lists saves a cache miss per rule.
  if (kind.onEvents) noteAll(entry, snapshot);
  const due = kind.isDue(rule.trigger, memory, nowMs, mode, entry.changed !== -1);
  return due && rule.runnable && cooledDown(entry, nowMs);
}

/** Avoids a memory write for the many rules that are not due. */
function forgetChange(entry: Entry): void {
  if (entry.changed !== -1) entry.changed = -1;
}

function noteAll(entry: Entry, snapshot: Snapshot): void {
  const { points } = entry.rule;
  for (let position = 0; position < points.length; position++) {
    const { index, maxAgeMs } = points[position] as SubscribedPoint;
    note(entry, position, usable(snapshot, index, maxAgeMs) ? (snapshot.values[index] as number) : Number.NaN);
  }
}

/** The trigger in the record of a run. */
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
