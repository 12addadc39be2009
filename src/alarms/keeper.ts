/**
 * Keeps the alarms of a site [alarms §3]: checks their conditions periodically while this process controls, applies the actions of
 * operators, stores each change before showing it, and notifies listeners. During a database outage changes are shown at once and
 * stored later.
 */
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { createTurn } from '../base/in-turn.ts';
import type { Log } from '../base/log.ts';
import { type Repeated, repeatedly } from '../base/repeatedly.ts';
import { dayMs } from '../base/timestamp.ts';
import type { RetentionTime } from '../storage/retention-clock.ts';
import {
  type AlarmActor,
  type AlarmFacts,
  type AlarmState,
  acknowledged,
  isActive,
  normalAlarm,
  observed,
  shelved,
} from './alarm-state.ts';
import { type Condition, seenNow } from './condition.ts';
import type { AlarmLimits } from './limits.ts';
import { Shelvings } from './shelving.ts';
import { type SiteNow, unseen } from './site-now.ts';
import type { AlarmSource, Sight } from './source/source.ts';
import type { AlarmChange, AlarmStore } from './store/alarm-store.ts';

export interface AlarmKeeperParts {
  /** Of the current site. */
  readonly sources: () => readonly AlarmSource[];
  readonly store: AlarmStore;
  readonly view: () => Promise<SiteNow>;
  /** Whether this process is the leader now. */
  readonly controls: () => boolean;
  /** Other processes of the site store changes too. */
  readonly shared: boolean;
  readonly clock: Clock;
  readonly retention: RetentionTime;
  readonly log: Log;
  readonly limits: AlarmLimits;
}

type AlarmStep = (alarm: AlarmState) => AlarmState;
export type AlarmListener = (changed: readonly AlarmState[]) => void;

const pruneIntervalMs = 3_600_000;
/** Intervals without a complete look after which alarms count as not evaluated. */
export const lateLooks = 10;

export class AlarmKeeper {
  readonly #parts: AlarmKeeperParts;
  readonly #alarms = new Map<string, AlarmState>();
  /** Alarms that can be named without the state of the site. */
  #defined: ReadonlyMap<string, AlarmFacts> = new Map();
  /** Of these sources. */
  #definedBy: readonly AlarmSource[] = [];
  readonly #conditions = new Map<string, Condition>();
  readonly #shelvings: Shelvings;
  readonly #listeners = new Set<AlarmListener>();
  /** Changes that are not stored yet. */
  #unsaved: AlarmChange[] = [];
  /** Current states of the alarms in these changes. They are stored even if some of the changes are dropped. */
  readonly #unsavedAlarms = new Map<string, AlarmState>();
  #lost = 0;
  readonly #inTurn = createTurn();
  #looking: Repeated | undefined;
  #prunedMs: number | undefined;
  /** When alarms were last evaluated and stored, with an engine that answered. */
  #watchedMs: number | undefined;
  #controlled = false;
  /** When this process became the leader after one that did not shut down cleanly. */
  #unendedMs: number | null = null;

  constructor(parts: AlarmKeeperParts) {
    this.#parts = parts;
    this.#shelvings = new Shelvings(parts.clock);
    this.#define();
  }

  /** A changed site may define others. */
  #define(): void {
    const { limits } = this.#parts;
    const sources = this.#parts.sources();
    if (sources === this.#definedBy) return;
    const sights = sources.flatMap((source) => source.look(unseen, limits, () => false) ?? []);
    this.#definedBy = sources;
    this.#defined = new Map(sights.map(({ facts }) => [facts.id, facts]));
    for (const alarm of this.list()) if (this.#isGone(alarm)) this.#alarms.delete(alarm.id);
    const described = this.list().flatMap((alarm) => {
      const next = this.#asDefined(alarm);
      return next === alarm ? [] : [next];
    });
    for (const facts of this.#defined.values())
      if (!this.#alarms.has(facts.id)) this.#alarms.set(facts.id, normalAlarm(facts));
    this.#replace(described);
  }

  /** The name, priority, message and threshold of an alarm are those of the site file, whatever they were when it occurred. */
  #asDefined(alarm: AlarmState): AlarmState {
    const facts = this.#defined.get(alarm.id);
    if (facts === undefined || facts.point === null) return alarm;
    const next = { ...alarm, ...facts };
    return JSON.stringify(next) === JSON.stringify(alarm) ? alarm : next;
  }

  /** A normal alarm that is no longer in the site file. */
  #isGone({ id, state, point }: AlarmState): boolean {
    return state === 'normal' && point !== null && !this.#defined.has(id);
  }

  /** Reads the stored alarms and starts the checks. */
  async open(): Promise<void> {
    const { clock, limits, log } = this.#parts;
    for (const alarm of await this.#stored()) this.#alarms.set(alarm.id, alarm);
    const refusal = 'cannot store changes of alarms; they are kept until the database answers';
    this.#looking = repeatedly(clock, limits.interval_ms, log, () => this.look(), refusal);
  }

  async stop(): Promise<void> {
    this.#looking?.cancel();
    await this.#inTurn(async () => undefined);
    // An unavailable database cannot record it: the next start then assumes a crash.
    if (this.#controlled && this.#parts.controls()) await this.#parts.store.control(false).catch(() => undefined);
  }

  /** All defined alarms, and all others that were ever raised or shelved. */
  list(): readonly AlarmState[] {
    return [...this.#alarms.values()];
  }

  onChange(listener: AlarmListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  acknowledge(id: string, by: AlarmActor): Promise<AlarmState> {
    return this.#operateOn(id, by, null, (alarm) => {
      const next = acknowledged(alarm, by);
      if (next !== null) return next;
      throw new Fault('invalid-value', `alarm ${id} is ${alarm.state}: there is nothing to acknowledge`);
    });
  }

  /** Acknowledges these alarms if they are unacknowledged, all or none; returns the acknowledged ones. */
  acknowledgeMany(ids: readonly string[], by: AlarmActor): Promise<readonly AlarmState[]> {
    return this.#operate(ids, by, null, (alarm) => acknowledged(alarm, by) ?? alarm);
  }

  shelve(id: string, untilMs: number, by: AlarmActor, reason: string): Promise<AlarmState> {
    return this.#operateOn(id, by, reason, (alarm) => shelved(alarm, untilMs));
  }

  /** Ends the shelving now. Where the condition is not known, on a standby, the next check by the leader decides on the state. */
  unshelve(id: string, by: AlarmActor): Promise<AlarmState> {
    return this.#operateOn(id, by, null, (alarm) => {
      if (alarm.state !== 'shelved') throw new Fault('invalid-value', `alarm ${id} is ${alarm.state}, not shelved`);
      const nowMs = this.#parts.clock.wallMs();
      const ended = { ...alarm, shelvedUntilMs: nowMs };
      const condition = this.#conditions.get(id);
      const othersActive = this.list().some((other) => other.id !== id && isActive(other));
      return condition === undefined ? ended : observed(ended, { holds: condition.holds, nowMs, othersActive });
    });
  }

  /** Checks all conditions once. */
  look(): Promise<void> {
    return this.#inTurn(async () => {
      const { controls, shared } = this.#parts;
      this.#define();
      // A failure to store or read must not hide other alarms.
      const failures: unknown[] = [];
      const attempt = (work: Promise<void>): Promise<void> => work.catch((error: unknown) => void failures.push(error));
      await attempt(this.#save());
      if (shared && this.#unsaved.length === 0) await attempt(this.#stored().then((stored) => this.#take(stored)));
      const view = controls() ? await this.#parts.view() : null;
      if (view !== null) await this.#lookAt(view, attempt);
      else {
        this.#controlled = false;
        this.#conditions.clear();
      }
      if (failures.length > 0) throw failures[0];
      if (view !== null && view.troubles !== null) this.#watchedMs = view.nowMs;
    });
  }

  /** Whether this process has evaluated alarms lately, the engine answered, and changes could be stored. */
  watches(): boolean {
    const { clock, controls, limits } = this.#parts;
    const sinceMs = clock.monotonicMs() - (this.#watchedMs ?? Number.NEGATIVE_INFINITY);
    return controls() && sinceMs <= lateLooks * limits.interval_ms;
  }

  async #lookAt(view: SiteNow, attempt: (work: Promise<void>) => Promise<void>): Promise<void> {
    if (!this.#controlled) await attempt(this.#beginControl(view.nowMs));
    await attempt(this.#judge({ ...view, engineRestartedMs: view.engineRestartedMs ?? this.#unendedMs }));
    await attempt(this.#prune(view.nowMs));
  }

  async #beginControl(nowMs: number): Promise<void> {
    this.#unendedMs = (await this.#parts.store.control(true)) ? nowMs : null;
    this.#controlled = true;
  }

  /** The stored alarms as the site file describes them, without removed ones. */
  async #stored(): Promise<AlarmState[]> {
    const all = await this.#parts.store.all();
    return all.filter((alarm) => !this.#isGone(alarm)).map((alarm) => this.#asDefined(alarm));
  }

  async #judge(view: SiteNow): Promise<void> {
    const wallMs = this.#parts.clock.wallMs();
    const holds = this.#conditionsNow(view);
    const steps = new Map<string, { readonly facts: AlarmFacts; readonly holds: boolean }>();
    for (const [id, now] of holds) {
      const before = this.#shelvings.now(this.#alarms.get(id) ?? normalAlarm(now.facts));
      const seen = { holds: now.holds, nowMs: wallMs, othersActive: true };
      if (observed(before, seen) !== before) steps.set(id, now);
    }
    const judged = (stored: ReadonlyMap<string, AlarmState>): AlarmChange[] => {
      const active = new Set(this.list().flatMap((alarm) => (isActive(alarm) ? [alarm.id] : [])));
      return [...steps].flatMap(([id, { facts, holds: now }]): AlarmChange[] => {
        const before = this.#shelvings.now(stored.get(id) ?? normalAlarm(facts));
        active.delete(id);
        const after = observed(before, { holds: now, nowMs: wallMs, othersActive: active.size > 0 });
        if (isActive(after)) active.add(id);
        return after === before ? [] : [{ alarm: { ...after, ...facts }, atMs: wallMs, by: null, reason: null }];
      });
    };
    if (steps.size === 0) return;
    try {
      // Changes are stored in their order: not before pending ones.
      if (this.#unsaved.length > 0)
        throw new Fault('storage-unavailable', 'earlier changes of alarms are not stored yet');
      this.#show(await this.#parts.store.change([...steps.keys()], judged));
    } catch (error) {
      // Show the change even if it cannot be stored: the failing storage may be the cause of the alarm.
      const changes = judged(this.#alarms);
      this.#keep(changes);
      this.#show(changes);
      throw error;
    }
  }

  /** The condition of every alarm that can be evaluated now. */
  #conditionsNow(view: SiteNow): Map<string, { readonly facts: AlarmFacts; readonly holds: boolean }> {
    const found = new Map<string, { readonly facts: AlarmFacts; readonly holds: boolean }>();
    for (const source of this.#parts.sources()) {
      const sights = source.look(view, this.#parts.limits, (id) => this.#before(id, view.nowMs).raw);
      if (sights === null) continue;
      const named = new Set(sights.map(({ facts }) => facts.id));
      const gone = this.list().filter(({ id, state }) => state !== 'normal' && source.owns(id) && !named.has(id));
      const all: Sight[] = [...sights, ...gone.map((facts) => ({ facts: factsOf(facts), raw: false, delayMs: 0 }))];
      for (const { facts, raw, delayMs } of all) {
        const now = seenNow(this.#before(facts.id, view.nowMs), raw, delayMs, view.nowMs);
        this.#conditions.set(facts.id, now);
        found.set(facts.id, { facts, holds: now.holds });
      }
    }
    return found;
  }

  /** After a start, an active alarm stays active until an observation clears it. */
  #before(id: string, nowMs: number): Condition {
    const known = this.#conditions.get(id);
    if (known !== undefined) return known;
    const alarm = this.#alarms.get(id);
    const held = alarm !== undefined && (isActive(alarm) || alarm.shelvedActive);
    return { raw: held, sinceMs: nowMs, holds: held };
  }

  async #operateOn(id: string, by: AlarmActor, reason: string | null, step: AlarmStep): Promise<AlarmState> {
    const known = this.#alarms.get(id);
    if (known === undefined) throw new Fault('not-found', `unknown alarm ${id}`);
    const [changed] = await this.#operate([id], by, reason, step);
    return changed ?? this.#alarms.get(id) ?? known;
  }

  /** Applies a step to the existing ones of these alarms, from their stored states; returns the changed ones. */
  #operate(
    ids: readonly string[],
    by: AlarmActor,
    reason: string | null,
    step: AlarmStep,
  ): Promise<readonly AlarmState[]> {
    return this.#inTurn(async () => {
      await this.#save();
      const atMs = this.#parts.clock.wallMs();
      const known = ids.flatMap((id) => this.#alarms.get(id) ?? []);
      const changes = await this.#parts.store.change(
        known.map(({ id }) => id),
        (stored) =>
          known.flatMap((shown) => {
            const before = this.#asDefined(stored.get(shown.id) ?? shown);
            const alarm = step(before);
            return alarm === before ? [] : [{ alarm, atMs, by, reason }];
          }),
      );
      this.#show(changes);
      return changes.map(({ alarm }) => alarm);
    });
  }

  #show(changes: readonly AlarmChange[]): void {
    this.#replace([...byId(changes.map(({ alarm }) => alarm)).values()]);
  }

  /** Applies states that other processes stored. */
  #take(stored: readonly AlarmState[]): void {
    this.#replace(stored.filter((alarm) => JSON.stringify(alarm) !== JSON.stringify(this.#alarms.get(alarm.id))));
  }

  #replace(changed: readonly AlarmState[]): void {
    if (changed.length === 0) return;
    for (const alarm of changed)
      if (this.#isGone(alarm)) this.#alarms.delete(alarm.id);
      else this.#alarms.set(alarm.id, alarm);
    for (const listener of this.#listeners) listener(changed);
  }

  #keep(changes: readonly AlarmChange[]): void {
    this.#unsaved.push(...changes);
    for (const { alarm } of changes) this.#unsavedAlarms.set(alarm.id, alarm);
    const excess = this.#unsaved.length - this.#parts.limits.unsaved_max;
    if (excess <= 0) return;
    this.#unsaved.splice(0, excess);
    if (this.#lost === 0) this.#parts.log.error('dropping alarm changes: the database does not accept them');
    this.#lost += excess;
  }

  async #save(): Promise<void> {
    const changes = this.#unsaved;
    if (changes.length === 0) return;
    await this.#parts.store.put(changes, [...this.#unsavedAlarms.values()]);
    this.#unsaved = [];
    this.#unsavedAlarms.clear();
    if (this.#lost > 0) this.#parts.log.error('changes of alarms were lost', { changes: this.#lost });
    this.#lost = 0;
  }

  async #prune(nowMs: number): Promise<void> {
    if (this.#prunedMs !== undefined && nowMs - this.#prunedMs < pruneIntervalMs) return;
    const { store, retention, limits } = this.#parts;
    await store.prune(retention.nowMs() - limits.history_days * dayMs, limits.history_rows_max);
    this.#prunedMs = nowMs;
  }
}

function byId(alarms: readonly AlarmState[]): Map<string, AlarmState> {
  return new Map(alarms.map((alarm) => [alarm.id, alarm]));
}

function factsOf({ id, name, priority, message, point, threshold }: AlarmState): AlarmFacts {
  return { id, name, priority, message, point, threshold };
}
