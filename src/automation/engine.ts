/**
 * The engine: what is due runs [rules §6.1], [rules §6.2]. A cycle is one tick or one batch of point changes or one manual
 * order; it sees one snapshot, and its rules run in priority order, each at most once. A cycle is done in slices of
 * `max_concurrent_executions` between which the event loop turns, so an execution never waits for more than a slice.
 */
import { type Clock, type Timer, withTimeout } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import { timeLabel } from '../base/timestamp.ts';
import type { CommandWriter } from '../points/command-slots.ts';
import type { Arbiter } from '../rules/arbiter.ts';
import { createPlan } from '../rules/evaluate.ts';
import { executeRule } from '../rules/executor.ts';
import type { ExecutionRecord, RunTrigger } from '../rules/record.ts';
import type { DueRule } from '../rules/scheduler.ts';
import type { PointRef } from '../site/catalogue.ts';
import { type Snapshot, usable } from '../site/snapshot.ts';
import type { AuthorityKeeper } from './authority-keeper.ts';
import type {
  EngineStatus,
  ExecuteOrder,
  PointWriter,
  ReloadReport,
  RuleRowsChange,
  RuleStatus,
  UnusableInput,
} from './engine-contract.ts';
import { type EngineMeasures, measureEngine } from './engine-metrics.ts';
import type { AutomationLimits } from './limits.ts';
import type { RuleSet } from './rule-set.ts';
import { type RuleTrouble, RuleTroubles, type TroubleQuestion } from './rule-troubles.ts';
import type { RunRecorder } from './run-recorder.ts';
import { createTicker } from './ticker.ts';

/** Source of values: the live table and its change ring, or a test's arrays. */
interface PointSource {
  /** Refills the snapshot; false if no consistent copy was possible. */
  copyInto(snapshot: Snapshot): boolean;
  /** Passes on the changes since the last call; true if changes were lost and all points must be sampled. */
  drainChanges(take: (pointIndex: number, value: number, usable: boolean) => void): boolean;
  /** Whether the channel of the point is online. */
  isOnline(pointIndex: number): boolean;
}

export interface EngineParts {
  readonly clock: Clock;
  readonly limits: AutomationLimits;
  readonly rules: RuleSet;
  readonly arbiter: Arbiter;
  readonly authority: Pick<AuthorityKeeper, 'cycle' | 'flush'>;
  /** Refilled by each cycle. */
  readonly snapshot: Snapshot;
  /** Refilled by each query about rules. */
  readonly statusSnapshot: Snapshot;
  readonly points: PointSource;
  /** By point: the maximum age of a reading. */
  readonly maxAgesMs: readonly number[];
  readonly port: CommandWriter;
  readonly recorder: RunRecorder;
  /** Receives every record. */
  readonly publish: (record: ExecutionRecord) => void;
}

export interface Engine {
  start(): void;
  /** Points changed: an event cycle follows. */
  pointsChanged(): void;
  reload(change: RuleRowsChange): ReloadReport;
  execute(order: ExecuteOrder): Promise<ExecutionRecord>;
  explain(ruleIds: readonly number[]): (RuleStatus | null)[];
  status(): EngineStatus;
  measures(): EngineMeasures;
  writers(points: readonly PointRef[]): PointWriter[];
  writeCycle(ruleId: number): readonly number[] | null;
  troubles(question: TroubleQuestion): RuleTrouble[];
  unusableInputs(): UnusableInput[];
  /** Stops new cycles; a running one ends after its slice. */
  stop(): void;
}

interface Order extends ExecuteOrder {
  /** Attempts to copy a consistent snapshot before the order is refused. */
  attemptsLeft: number;
  readonly resolve: (record: ExecutionRecord) => void;
  readonly reject: (fault: Fault) => void;
}

const snapshotAttempts = 5;
/** Changes per cycle whose age is measured; measuring more would cost more than it is worth. */
const changesTracked = 1024;

export function createEngine(parts: EngineParts): Engine {
  return new RunningEngine(parts);
}

class RunningEngine implements Engine {
  readonly #parts: EngineParts;
  readonly #clock;
  readonly #limits;
  readonly #rules;
  readonly #arbiter;
  readonly #snapshot;
  readonly #points;
  readonly #port;
  readonly #recorder;
  readonly #scheduler;
  #running = false;
  /** The time of the tick that waits for its cycle: its place on the grid of ticks, not the time at which it was noticed. */
  #tickDue: number | undefined;
  #eventsDue = false;
  /** The ring lost changes since the last snapshot. */
  #changesLost = false;
  #tickWasLast = false;
  #inCycle = false;
  #pumpAsked = false;
  #heldTimer: Timer | undefined;
  readonly #orders: Order[] = [];
  readonly #plan = createPlan();
  readonly #measures;
  readonly #troubles = new RuleTroubles();
  /** Points that changed since the last snapshot. */
  readonly #changed: number[] = [];
  readonly #counts = {
    event_cycles: 0,
    executions: 0,
    queue_depth: 0,
    max_queue_depth: 0,
    last_cycle_ms: 0,
    torn_snapshots: 0,
  };
  readonly #ticker;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { clock, limits, rules, arbiter, snapshot, points, port, recorder } = parts;
    this.#clock = clock;
    this.#limits = limits;
    this.#rules = rules;
    this.#arbiter = arbiter;
    this.#snapshot = snapshot;
    this.#points = points;
    this.#port = port;
    this.#recorder = recorder;
    const { scheduler } = this.#rules;
    this.#scheduler = scheduler;
    this.#measures = measureEngine(() => this.#port.superseded());
    this.#ticker = createTicker(this.#clock, this.#limits, (tickMs, latenessMs) => {
      this.#measures.ticked(latenessMs);
      const beforeWaits = this.#tickDue !== undefined;
      this.#tickDue = tickMs;
      this.#pump();
      return beforeWaits;
    });
  }

  start(): void {
    this.#running = true;
    this.#ticker.start();
  }

  pointsChanged(): void {
    this.#eventsDue = true;
    if (!this.#inCycle) this.#ask();
  }

  reload(change: RuleRowsChange): ReloadReport {
    const { report, edited, removed } = this.#rules.change(change);
    // Memory that an edit dropped or kept must survive a restart too, whether or not the rule ran in between.
    this.#recorder.touch(edited);
    this.#recorder.forget(removed);
    return report;
  }

  execute(order: ExecuteOrder): Promise<ExecutionRecord> {
    return new Promise((resolve, reject) => {
      if (!this.#running || this.#orders.length >= this.#limits.max_waiting_executions) {
        reject(new Fault('engine-unavailable', 'too many executions are waiting; try again'));
        return;
      }
      this.#orders.push({ ...order, attemptsLeft: snapshotAttempts, resolve, reject });
      if (!this.#inCycle) this.#ask();
    });
  }

  explain(ruleIds: readonly number[]): (RuleStatus | null)[] {
    const snapshot = this.#snapshotNow();
    return ruleIds.map((ruleId) => this.#rules.explain(ruleId, snapshot));
  }

  unusableInputs(): UnusableInput[] {
    return this.#rules.unusableInputs(this.#snapshotNow(), (index) => this.#points.isOnline(index));
  }

  /** Not the cycle's snapshot: a cycle may be between two slices. */
  #snapshotNow(): Snapshot {
    if (!this.#points.copyInto(this.#parts.statusSnapshot))
      throw new Fault('engine-unavailable', 'live values cannot be read now; try again');
    return this.#parts.statusSnapshot;
  }

  status(): EngineStatus {
    return {
      running: this.#running,
      ...this.#rules.counts(),
      tick_interval_ms: this.#limits.tick_interval_ms,
      ...this.#ticker.counts(),
      ...this.#counts,
      queue_depth: this.#counts.queue_depth + this.#orders.length,
      records_waiting: this.#recorder.waiting(),
      records_dropped: this.#recorder.dropped(),
    };
  }

  measures(): EngineMeasures {
    return this.#measures.read();
  }

  troubles(question: TroubleQuestion): RuleTrouble[] {
    return this.#troubles.last(question, this.#clock.monotonicMs(), (id, revision) => {
      const row = this.#rules.get(id)?.row;
      return row?.enabled === true && row.revision === revision;
    });
  }

  writers(wanted: readonly PointRef[]): PointWriter[] {
    return this.#rules.writers(wanted);
  }

  writeCycle(ruleId: number): readonly number[] | null {
    return this.#rules.writeCycle(ruleId);
  }

  stop(): void {
    this.#running = false;
    this.#ticker.stop();
    this.#heldTimer?.cancel();
    for (const order of this.#orders.splice(0)) order.reject(new Fault('engine-unavailable', 'the engine is stopping'));
  }

  #ask(): void {
    if (this.#pumpAsked) return;
    this.#pumpAsked = true;
    this.#clock.soon(() => {
      this.#pumpAsked = false;
      this.#pump();
    });
  }

  /** Starts the next cycle: manual orders first, then ticks and events in turn so that neither starves the other. */
  #pump(): void {
    if (this.#inCycle || !this.#running) return;
    const order = this.#orders.shift();
    if (order !== undefined) this.#runOrder(order);
    else if (this.#tickDue !== undefined && !(this.#eventsDue && this.#tickWasLast))
      this.#scheduledCycle(this.#tickDue);
    else if (this.#eventsDue) this.#scheduledCycle(undefined);
    if (!this.#inCycle && (this.#orders.length > 0 || this.#tickDue !== undefined || this.#eventsDue)) this.#ask();
  }

  /** A cycle for the tick at that time, or without a tick for the point changes since the last cycle. */
  #scheduledCycle(tickMs: number | undefined): void {
    const beganMs = this.#clock.monotonicMs();
    this.#tickWasLast = tickMs !== undefined;
    // Cleared before the ring is read: a change that arrives later requests another cycle.
    this.#eventsDue = false;
    if (tickMs === undefined) this.#counts.event_cycles++;
    else this.#tickDue = undefined;
    const observe = (index: number, value: number, isUsable: boolean): void => {
      if (this.#changed.length < changesTracked) this.#changed.push(index);
      this.#scheduler.observe(index, value, isUsable, beganMs);
    };
    this.#changesLost = this.#points.drainChanges(observe) || this.#changesLost;
    if (!this.#points.copyInto(this.#snapshot)) {
      this.#counts.torn_snapshots++;
      // The changes stay marked in the scheduler; the next cycle finds them.
      this.#eventsDue = true;
      return;
    }
    if (this.#changesLost) this.#sampleAll(beganMs);
    this.#changesLost = false;
    const due =
      tickMs === undefined
        ? this.#scheduler.due(this.#snapshot, 'event')
        : this.#scheduler.due(this.#snapshot, 'tick', tickMs);
    this.#counts.queue_depth = due.length;
    this.#counts.max_queue_depth = Math.max(this.#counts.max_queue_depth, due.length);
    this.#awaitHeld(this.#scheduler.heldUntilMs());
    this.#arbiter.beginCycle(this.#snapshot);
    this.#parts.authority.cycle(this.#snapshot);
    this.#inCycle = true;
    const sinceMs = tickMs === undefined && due.length > 0 ? oldest(this.#changed, this.#snapshot) : undefined;
    this.#changed.length = 0;
    this.#runSlice(due, 0, beganMs, sinceMs);
  }

  /** A change delayed by the minimum interval of event runs fires when the interval has passed, not at the next tick. */
  #awaitHeld(untilMs: number | undefined): void {
    this.#heldTimer?.cancel();
    this.#heldTimer =
      untilMs === undefined
        ? undefined
        : this.#clock.after(Math.max(0, untilMs - this.#clock.monotonicMs()), () => {
            this.#eventsDue = true;
            this.#pump();
          });
  }

  /** The ring lost changes: every point counts as changed, and the affected rules are evaluated. */
  #sampleAll(nowMs: number): void {
    this.#parts.maxAgesMs.forEach((maxAgeMs, index) => {
      const isUsable = usable(this.#snapshot, index, maxAgeMs);
      this.#scheduler.observe(index, this.#snapshot.values[index] ?? Number.NaN, isUsable, nowMs);
    });
  }

  /** `sinceMs`: observation time of the oldest change that this cycle handles. */
  #runSlice(due: readonly DueRule[], from: number, beganMs: number, sinceMs: number | undefined): void {
    const end = Math.min(due.length, from + this.#limits.max_concurrent_executions);
    for (let index = from; index < end; index++) {
      const item = due[index];
      if (item !== undefined) this.#runDue(item);
    }
    this.#counts.queue_depth = due.length - end;
    if (end < due.length && this.#running) {
      this.#clock.soon(() => this.#runSlice(due, end, beganMs, sinceMs));
      return;
    }
    this.#inCycle = false;
    const endedMs = this.#clock.monotonicMs();
    this.#counts.last_cycle_ms = endedMs - beganMs;
    if (sinceMs !== undefined) this.#measures.eventCycle(endedMs - sinceMs);
    this.#parts.authority.flush();
    if (this.#orders.length > 0 || this.#tickDue !== undefined || this.#eventsDue) this.#ask();
  }

  /** A rule that a reload removed or disabled since the cycle started does not run; an edited one runs in its new revision. */
  #runDue(due: DueRule): void {
    const rule = this.#rules.get(due.ruleId);
    if (rule === undefined || rule.compiled === null || !rule.row.enabled) return;
    const id = newId();
    const record = this.#run(due.ruleId, id, id, due.trigger, due.dueAtMs);
    const cools = acted(record) && rule.row.cooldown_ms > 0;
    // Stored at once: the next leader needs it after a crash or a takeover [rules §6.3].
    if (cools) this.#recorder.hurry();
  }

  #run(
    ruleId: number,
    executionId: string,
    correlationId: string,
    trigger: RunTrigger,
    dueAtMs: number,
  ): ExecutionRecord {
    const { compiled, state, isShadow } = this.#rules.runnable(ruleId);
    const startedMs = this.#clock.monotonicMs();
    const record = executeRule(compiled, this.#snapshot, state, this.#arbiter, this.#port, this.#plan, {
      executionId,
      correlationId,
      trigger,
      startedAt: timeLabel(this.#clock.wallMs()),
      isShadow,
      durationUs: () => Math.round((this.#clock.monotonicMs() - startedMs) * 1000),
    });
    this.#counts.executions++;
    this.#measures.executed(record);
    this.#troubles.ran(record, startedMs);
    const unchanged = this.#rules.finished(ruleId, record);
    const scheduled = trigger.type !== 'manual';
    const endedMs = this.#clock.monotonicMs();
    // Before the run is recorded, because the record includes the resulting state and cooldown.
    this.#scheduler.finished(ruleId, { scheduled, acted: acted(record), snapshot: this.#snapshot, dueAtMs, endedMs });
    this.#recorder.record(record, unchanged);
    for (const point of this.#arbiter.takeClaimed()) {
      const claim = this.#arbiter.exportClaim(point, this.#clock.monotonicMs(), this.#clock.wallMs());
      this.#recorder.claimed(`${point.instance}:${point.point_type}:${point.point}`, JSON.stringify(claim));
    }
    this.#parts.publish(record);
    return record;
  }

  /** A manual order is a cycle of its own and ignores trigger and cooldown. */
  #runOrder(order: Order): void {
    if (this.#clock.monotonicMs() >= order.untilMs) return order.reject(expired());
    const rule = this.#rules.get(order.ruleId);
    if (rule === undefined) return order.reject(new Fault('not-found', `rule ${order.ruleId} not found`));
    if (rule.compiled === null)
      return order.reject(
        new Fault('no-runnable-flow', 'the rule has no flow that can run', { details: { code: rule.failure } }),
      );
    if (!this.#points.copyInto(this.#snapshot)) {
      this.#counts.torn_snapshots++;
      order.attemptsLeft--;
      if (order.attemptsLeft === 0)
        return order.reject(new Fault('engine-unavailable', 'live values cannot be read now; try again'));
      // Back to the head of the queue, not a timer of its own: only one cycle runs at a time.
      this.#orders.unshift(order);
      return;
    }
    this.#arbiter.beginCycle(this.#snapshot);
    this.#parts.authority.cycle(this.#snapshot);
    const record = this.#run(
      order.ruleId,
      newId(),
      order.correlationId,
      { type: 'manual' },
      this.#snapshot.monotonicMs,
    );
    this.#parts.authority.flush();
    // Store before answering, so that the next query finds the run. A hanging disk must not turn a finished run into an error.
    const stored = this.#recorder.settled(order.ruleId).then(() => undefined);
    void withTimeout(this.#clock, Math.max(0, order.untilMs - this.#clock.monotonicMs()), stored).then(() =>
      order.resolve(record),
    );
  }
}

function expired(): Fault {
  const message = 'the order expired before the rule engine began it: nothing was carried out; try again';
  return new Fault('engine-unavailable', message, { details: { order: 'expired' } });
}

/** Cooldown starts after a successful execution that performed at least one action [rules §6.3]; an outranked write does not count. */
function acted(record: ExecutionRecord): boolean {
  return record.success && record.actions_executed.some((action) => action.success);
}

/** Observation time of the oldest of these points; undefined without points. */
function oldest(points: readonly number[], snapshot: Snapshot): number | undefined {
  let sinceMs: number | undefined;
  for (const point of points) {
    const observedMs = snapshot.observedMs[point];
    if (observedMs !== undefined && observedMs < (sinceMs ?? Number.POSITIVE_INFINITY)) sinceMs = observedMs;
  }
  return sinceMs;
}
