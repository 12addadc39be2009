/**
 * One rule over recorded values [rules §10.2]: the scheduler, the executor and the arbiter of the engine, on a simulated clock that
 * advances from event to event. Commands are accepted and discarded. All times are wall milliseconds.
 */
import type { SiteCatalogue } from '../../site/catalogue.ts';
import type { CommandPort } from '../../site/command-port.ts';
import { quality } from '../../site/quality.ts';
import { createSnapshot, usable } from '../../site/snapshot.ts';
import { createArbiter } from '../arbiter.ts';
import type { CompiledRule } from '../compile.ts';
import { createPlan, type Plan } from '../evaluate.ts';
import { type RuleRun, runRule } from '../executor.ts';
import type { ScheduledRule } from '../scheduled-rule.ts';
import { createScheduler } from '../scheduler.ts';
import { createRuleState } from '../state.ts';
import { triggerKind } from '../trigger/index.ts';

/** A recorded value, valid until the next one of its point, or until its maximum age. */
export interface SampledValue {
  readonly atMs: number;
  /** By point. */
  readonly index: number;
  /** NaN if the point had no usable value. */
  readonly value: number;
  readonly isUncertain: boolean;
}

/** A rule that can run: its compiled flow, and its trigger for the scheduler. */
export interface RunnableRule {
  readonly scheduled: ScheduledRule;
  readonly compiled: CompiledRule;
}

export interface SimulationParts extends RunnableRule {
  readonly catalogue: SiteCatalogue;
  /** After `evaluations_max` nothing runs any more. */
  readonly limits: {
    readonly tick_interval_ms: number;
    readonly event_min_interval_ms: number;
    readonly evaluations_max: number;
  };
  /** A row is written at least this often while its point is read: for this time a value counts as just observed. */
  readonly recordIntervalMs: number;
  /** The first tick. Earlier values only fill the snapshot. */
  readonly fromMs: number;
  /** Initial state, by call site; empty by default. */
  readonly memories?: ReadonlyMap<number, readonly number[]>;
  /** A value that a run saw in place of the current one. */
  readonly seen?: (atMs: number, index: number) => number | undefined;
  /** Results of a run's writes, if known; by default all are accepted. */
  readonly taken?: (atMs: number, run: RuleRun, plan: Plan) => RuleRun;
  /** The plan is filled again by the next run. */
  readonly onRun: (atMs: number, run: RuleRun, plan: Plan) => void;
  /**
   * `count` further runs, the last one at `lastMs`, would repeat this run at other times: no input has changed, and its result depends
   * neither on the time nor on earlier runs. They are not executed. Without this callback every run is.
   */
  readonly onRepeated?: (lastMs: number, run: RuleRun, plan: Plan, count: number) => void;
}

/** Accepts every command and discards it. */
export const accepting: CommandPort = { submit: () => 'accepted' };
const never = Number.POSITIVE_INFINITY;
/**
 * How long a run that writes takes, as far as its cooldown is concerned, which counts from its end [rules §6.3]: a tick one cooldown after the
 * tick of that run is too early, as in the engine.
 */
const actedMs = 1;

export class Simulation {
  readonly #parts;
  readonly #scheduler;
  readonly #snapshot;
  readonly #state;
  readonly #arbiter = createArbiter();
  readonly #plan = createPlan();
  /** Points that the rule reads or watches, with the time of the current row. */
  readonly #used: readonly number[];
  readonly #reads;
  /** The run of the last judgement, if there was one. */
  #last: RuleRun | null = null;
  /** By point index: 1 for each of them. */
  readonly #usedMask;
  readonly #rowMs;
  /** Positions of the windows in the rule's state. */
  readonly #windows: readonly number[];
  readonly #onEvents: boolean;
  /** Minimum time from a run to the next one. */
  readonly #gateMs: number;
  #tickMs: number;
  /** When a delayed change fires. */
  #heldMs = never;
  #lastRunMs = Number.NEGATIVE_INFINITY;
  #lastActedMs = Number.NEGATIVE_INFINITY;
  #evaluations = 0;
  #windowValues = 0;
  #warmAtMs: number | null = null;

  constructor(parts: SimulationParts) {
    this.#parts = parts;
    const { scheduled, compiled, catalogue, limits, fromMs } = parts;
    this.#scheduler = createScheduler(limits);
    this.#scheduler.change([{ ...scheduled, enabled: true }], []);
    this.#snapshot = createSnapshot(catalogue.points.length);
    this.#snapshot.generation = 1;
    this.#rowMs = new Float64Array(catalogue.points.length);
    this.#state = createRuleState(compiled).map((memory, site) => [...(parts.memories?.get(site) ?? memory)]);
    this.#windows = compiled.sites.flatMap(({ kind }, index) => (kind === 'moving_avg' ? [index] : []));
    this.#used = [...usedPoints(parts)];
    this.#reads = compiled.nodes.flatMap(({ reads }) => reads);
    this.#usedMask = new Uint8Array(catalogue.points.length);
    for (const index of this.#used) this.#usedMask[index] = 1;
    const kind = triggerKind(scheduled.trigger.type);
    this.#onEvents = kind.onEvents;
    this.#gateMs = kind.gateMs(scheduled.trigger);
    this.#tickMs = fromMs;
  }

  /** When the longest window of `moving_avg` was last full; null for a rule without one, and if none was ever fuller than before. */
  warmAtMs(): number | null {
    return this.#warmAtMs;
  }

  /** Number of evaluations. */
  evaluations(): number {
    return this.#evaluations;
  }

  /** Takes the values recorded at one moment; runs due before it come first. */
  take(atMs: number, values: readonly SampledValue[]): void {
    this.runUntil(atMs);
    const { values: current, quality: codes } = this.#snapshot;
    let isOwn = false;
    for (let at = 0; at < values.length; at++) {
      const { index, value, isUncertain } = values[at] as SampledValue;
      if (this.#usedMask[index] !== 1) continue;
      isOwn = true;
      const code = isUncertain ? quality.uncertain : quality.good;
      current[index] = value;
      codes[index] = Number.isFinite(value) ? code : quality.bad;
      this.#rowMs[index] = atMs;
    }
    if (isOwn && this.#onEvents && atMs >= this.#parts.fromMs) this.#changed(atMs, values);
  }

  /** Runs the rule if the new values trigger it. */
  #changed(atMs: number, values: readonly SampledValue[]): void {
    for (const { index, value } of values)
      if (this.#usedMask[index] === 1) this.#scheduler.observe(index, value, Number.isFinite(value), atMs);
    this.#judge('event', atMs);
  }

  /** Runs that are due before `endMs`. */
  runUntil(endMs: number): void {
    for (;;) {
      const atMs = Math.min(this.#tickMs, this.#heldMs);
      if (atMs >= endMs || this.#evaluations > this.#parts.limits.evaluations_max) return;
      this.#judge(this.#tickMs <= this.#heldMs ? 'tick' : 'event', atMs);
      const last = this.#last;
      // Values that change from tick to tick leave nothing to repeat.
      if (last !== null && this.#tickMs < endMs && this.#isSteady(last)) this.#repeat(last, endMs);
    }
  }

  #judge(mode: 'tick' | 'event', atMs: number): void {
    this.#last = null;
    this.#observe(atMs);
    const due = this.#scheduler.due(this.#snapshot, mode, atMs);
    this.#heldMs = this.#scheduler.heldUntilMs() ?? never;
    for (const { ruleId, dueAtMs } of due) this.#run(ruleId, dueAtMs, atMs);
    this.#tickMs = this.#nextTick(atMs);
  }

  /** A row is valid up to the next row or one recording interval, as if its point had been read continuously. */
  #observe(atMs: number): void {
    const snapshot = this.#snapshot;
    snapshot.monotonicMs = atMs;
    snapshot.wallMs = atMs;
    const { recordIntervalMs } = this.#parts;
    for (const index of this.#used)
      snapshot.observedMs[index] = Math.min(atMs, (this.#rowMs[index] ?? 0) + recordIntervalMs);
  }

  #run(ruleId: number, dueAtMs: number, atMs: number): void {
    const snapshot = this.#snapshot;
    const plan = this.#plan;
    const { seen, taken } = this.#parts;
    const restore = seen === undefined ? null : this.#see(atMs, seen);
    this.#arbiter.beginCycle(snapshot);
    const accepted = runRule(this.#parts.compiled, snapshot, this.#state, this.#arbiter, accepting, plan);
    const run = taken === undefined ? accepted : taken(atMs, accepted, plan);
    this.#evaluations++;
    this.#lastRunMs = atMs;
    this.#noteWindows(atMs);
    const acted = run.outcome === 'acted';
    const endedMs = acted && this.#parts.scheduled.cooldown_ms > 0 ? atMs + actedMs : atMs;
    if (acted) this.#lastActedMs = endedMs;
    this.#scheduler.finished(ruleId, { scheduled: true, acted, snapshot, dueAtMs, endedMs });
    this.#parts.onRun(atMs, run, plan);
    restore?.();
    this.#last = run;
  }

  /** Whether further runs would repeat this one, the last, until a value changes. */
  #isSteady({ outcome }: RuleRun): boolean {
    const { onRepeated, scheduled, compiled } = this.#parts;
    if (onRepeated === undefined || this.#onEvents || (outcome === 'acted' && scheduled.cooldown_ms > 0)) return false;
    const { path, pathLength, writes, writeCount } = this.#plan;
    for (let index = 0; index < pathLength; index++)
      if (compiled.nodes[path[index] as number]?.isSteady !== true) return false;
    for (let index = 0; index < writeCount; index++)
      if (writes[index]?.point.maxWritesPerMinute !== undefined) return false;
    return true;
  }

  /** Counts the runs before `endMs` that repeat the last one, until an input exceeds its maximum age. */
  #repeat(run: RuleRun, endMs: number): void {
    const { limits, scheduled, recordIntervalMs, onRepeated } = this.#parts;
    const stepMs = this.#tickMs - this.#lastRunMs;
    let count = Math.ceil((endMs - this.#tickMs) / stepMs);
    for (const { pointIndex, maxAgeMs } of this.#reads) {
      if (!usable(this.#snapshot, pointIndex, maxAgeMs)) continue;
      const validMs = (this.#rowMs[pointIndex] ?? 0) + recordIntervalMs + maxAgeMs;
      count = Math.min(count, Math.floor((validMs - this.#tickMs) / stepMs) + 1);
    }
    count = Math.min(count, limits.evaluations_max + 1 - this.#evaluations);
    if (count < 1) return;
    const lastMs = this.#tickMs + (count - 1) * stepMs;
    this.#observe(lastMs);
    this.#evaluations += count;
    this.#lastRunMs = lastMs;
    const acted = run.outcome === 'acted';
    if (acted) this.#lastActedMs = lastMs;
    const finished = { scheduled: true, acted, snapshot: this.#snapshot, dueAtMs: lastMs, endedMs: lastMs };
    this.#scheduler.finished(scheduled.id, finished);
    this.#tickMs = this.#nextTick(lastMs);
    onRepeated?.(lastMs, run, this.#plan, count);
  }

  /** Puts the values that the run saw into the snapshot; the returned function removes them. */
  #see(atMs: number, seen: NonNullable<SimulationParts['seen']>): () => void {
    const { values } = this.#snapshot;
    const before: [index: number, value: number][] = [];
    for (const index of this.#used) {
      const value = seen(atMs, index);
      if (value === undefined) continue;
      before.push([index, values[index] ?? Number.NaN]);
      values[index] = value;
    }
    return () => {
      for (const [index, value] of before) values[index] = value;
    };
  }

  #noteWindows(atMs: number): void {
    let values = 0;
    for (const index of this.#windows) values += this.#state[index]?.length ?? 0;
    if (values <= this.#windowValues) return;
    this.#windowValues = values;
    this.#warmAtMs = atMs;
  }

  /**
   * The next tick at which the scheduler's decision may change, on the grid of ticks: when interval, time deadband or cooldown
   * have passed, or a value has exceeded its maximum age. Ticks in between have the same result.
   */
  #nextTick(atMs: number): number {
    const { scheduled, limits, fromMs } = this.#parts;
    const openMs = Math.max(this.#lastRunMs + this.#gateMs, this.#lastActedMs + scheduled.cooldown_ms);
    const soonestMs = this.#onEvents
      ? Math.min(openMs > atMs ? openMs : never, this.#staleMs(atMs))
      : Math.max(openMs, atMs + 1);
    return fromMs + Math.ceil((soonestMs - fromMs) / limits.tick_interval_ms) * limits.tick_interval_ms;
  }

  /** When the next of the watched values exceeds its maximum age. */
  #staleMs(atMs: number): number {
    const { scheduled, recordIntervalMs } = this.#parts;
    let soonest = never;
    for (const { index, maxAgeMs } of scheduled.points) {
      if (!usable(this.#snapshot, index, maxAgeMs)) continue;
      const staleMs = (this.#rowMs[index] ?? 0) + recordIntervalMs + maxAgeMs + 1;
      if (staleMs > atMs) soonest = Math.min(soonest, staleMs);
    }
    return soonest;
  }
}

/** Points that the rule reads, and its trigger points. */
export function usedPoints({ scheduled, compiled }: RunnableRule): ReadonlySet<number> {
  const read = compiled.nodes.flatMap(({ reads }) => reads.map(({ pointIndex }) => pointIndex));
  return new Set([...read, ...scheduled.points.map(({ index }) => index)]);
}
