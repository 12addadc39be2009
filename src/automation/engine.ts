/**
 * The engine: what is due runs [rules §6.1], [rules §6.2]. A cycle is one tick or one batch of point changes or one manual
 * order; it sees one snapshot, and its rules run in priority order, each at most once. A cycle is done in slices of
 * `max_concurrent_executions` between which the event loop turns, so an execution never waits for more than a slice.
 */
import { type Clock, type Timer, within } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import { timeLabel } from '../base/timestamp.ts';
import type { CommandWriter } from '../points/command-slots.ts';
import type { Arbiter } from '../rules/arbiter.ts';
import { createPlan } from '../rules/evaluate.ts';
import { executeRule } from '../rules/executor.ts';
import type { ExecutionRecord, RunTrigger } from '../rules/record.ts';
import type { DueRule } from '../rules/scheduler.ts';
import { type Snapshot, usable } from '../site/snapshot.ts';
import type {
  EngineStatus,
  ExecuteOrder,
  PointWriter,
  ReloadReport,
  RuleRowsChange,
  RuleStatus,
} from './engine-contract.ts';
import { type EngineMeasures, measureEngine } from './engine-metrics.ts';
import type { AutomationLimits } from './limits.ts';
import type { Recorder } from './recorder.ts';
import type { RuleSet } from './rule-set.ts';
import { createTicker } from './ticker.ts';

/** Where values come from: the live table and its change ring, or a test's arrays. */
export interface PointSource {
  /** Refills the snapshot; false when no consistent copy could be had. */
  copyInto(snapshot: Snapshot): boolean;
  /** Hands over the changes since the last call; true when changes were lost and all points must be sampled. */
  drainChanges(take: (pointIndex: number, value: number, usable: boolean) => void): boolean;
}

export interface EngineParts {
  readonly clock: Clock;
  readonly limits: AutomationLimits;
  readonly rules: RuleSet;
  readonly arbiter: Arbiter;
  /** Refilled by each cycle. */
  readonly snapshot: Snapshot;
  /** Refilled by each question about rules. */
  readonly statusSnapshot: Snapshot;
  readonly points: PointSource;
  /** By point: how old a reading may be. */
  readonly maxAgesMs: readonly number[];
  readonly port: CommandWriter;
  readonly recorder: Recorder;
  /** Takes every record as it is made. */
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
  writers(points: readonly number[]): PointWriter[];
  writeCycle(ruleId: number): readonly number[] | null;
  /** No further cycle begins; one that runs ends after its slice. */
  stop(): void;
}

interface Order extends ExecuteOrder {
  /** Tries to copy a consistent snapshot before the order is refused. */
  attemptsLeft: number;
  readonly resolve: (record: ExecutionRecord) => void;
  readonly reject: (fault: Fault) => void;
}

const snapshotAttempts = 5;
/** Changes of one cycle whose age is looked at; the measurement of more would cost more than it tells. */
const changesTracked = 1024;

export function createEngine(parts: EngineParts): Engine {
  const { clock, limits, rules, arbiter, snapshot, points, port, recorder } = parts;
  const { scheduler } = rules;
  let running = false;
  /** The moment of the tick that waits for its cycle: its place on the grid of ticks, not when it was noticed. */
  let tickDue: number | undefined;
  let eventsDue = false;
  /** The ring lost changes since the last snapshot. */
  let changesLost = false;
  let tickWasLast = false;
  let inCycle = false;
  let pumpAsked = false;
  let heldTimer: Timer | undefined;
  const orders: Order[] = [];
  const plan = createPlan();
  const measures = measureEngine(() => port.superseded());
  /** Points that changed since the last snapshot. */
  const changed: number[] = [];
  const counts = {
    event_cycles: 0,
    executions: 0,
    queue_depth: 0,
    max_queue_depth: 0,
    last_cycle_ms: 0,
    torn_snapshots: 0,
  };

  const ticker = createTicker(clock, limits, (tickMs, latenessMs) => {
    measures.ticked(latenessMs);
    const beforeWaits = tickDue !== undefined;
    tickDue = tickMs;
    pump();
    return beforeWaits;
  });

  const ask = (): void => {
    if (pumpAsked) return;
    pumpAsked = true;
    clock.soon(() => {
      pumpAsked = false;
      pump();
    });
  };
  /** Begins the next cycle: manual orders first, then ticks and events in turn so that neither starves the other. */
  const pump = (): void => {
    if (inCycle || !running) return;
    const order = orders.shift();
    if (order !== undefined) runOrder(order);
    else if (tickDue !== undefined && !(eventsDue && tickWasLast)) scheduledCycle(tickDue);
    else if (eventsDue) scheduledCycle(undefined);
    if (!inCycle && (orders.length > 0 || tickDue !== undefined || eventsDue)) ask();
  };

  /** A cycle of the tick of that moment, or without one of the point changes since the last cycle. */
  const scheduledCycle = (tickMs: number | undefined): void => {
    const beganMs = clock.monotonicMs();
    tickWasLast = tickMs !== undefined;
    // Cleared before the ring is read: a change that arrives after it asks for another cycle.
    eventsDue = false;
    if (tickMs === undefined) counts.event_cycles++;
    else tickDue = undefined;
    const observe = (index: number, value: number, isUsable: boolean): void => {
      if (changed.length < changesTracked) changed.push(index);
      scheduler.observe(index, value, isUsable, beganMs);
    };
    changesLost = points.drainChanges(observe) || changesLost;
    if (!points.copyInto(snapshot)) {
      counts.torn_snapshots++;
      // The changes stay marked in the scheduler; the next cycle finds them.
      eventsDue = true;
      return;
    }
    if (changesLost) sampleAll(beganMs);
    changesLost = false;
    const due = tickMs === undefined ? scheduler.due(snapshot, 'event') : scheduler.due(snapshot, 'tick', tickMs);
    counts.queue_depth = due.length;
    counts.max_queue_depth = Math.max(counts.max_queue_depth, due.length);
    awaitHeld(scheduler.heldUntilMs());
    arbiter.beginCycle();
    inCycle = true;
    const sinceMs = tickMs === undefined && due.length > 0 ? oldest(changed, snapshot) : undefined;
    changed.length = 0;
    runSlice(due, 0, beganMs, sinceMs);
  };

  /** A change that the minimum interval of event runs holds back fires when that has passed, not at the next tick. */
  const awaitHeld = (untilMs: number | undefined): void => {
    heldTimer?.cancel();
    heldTimer =
      untilMs === undefined
        ? undefined
        : clock.after(Math.max(0, untilMs - clock.monotonicMs()), () => {
            eventsDue = true;
            pump();
          });
  };

  /** The ring lost changes: every point counts as changed, and the rules that it concerns are looked at. */
  const sampleAll = (nowMs: number): void => {
    parts.maxAgesMs.forEach((maxAgeMs, index) => {
      const isUsable = usable(snapshot, index, maxAgeMs);
      scheduler.observe(index, snapshot.values[index] ?? Number.NaN, isUsable, nowMs);
    });
  };

  /** `sinceMs`: when the oldest of the changes was observed that this cycle answers. */
  const runSlice = (due: readonly DueRule[], from: number, beganMs: number, sinceMs: number | undefined): void => {
    const end = Math.min(due.length, from + limits.max_concurrent_executions);
    for (let index = from; index < end; index++) {
      const item = due[index];
      if (item !== undefined) runDue(item);
    }
    counts.queue_depth = due.length - end;
    if (end < due.length && running) {
      clock.soon(() => runSlice(due, end, beganMs, sinceMs));
      return;
    }
    inCycle = false;
    const endedMs = clock.monotonicMs();
    counts.last_cycle_ms = endedMs - beganMs;
    if (sinceMs !== undefined) measures.eventCycle(endedMs - sinceMs);
    if (orders.length > 0 || tickDue !== undefined || eventsDue) ask();
  };

  /** A rule that a reload removed or disabled since the cycle began does not run; an edited one runs as it is now. */
  const runDue = (due: DueRule): void => {
    const rule = rules.get(due.ruleId);
    if (rule === undefined || rule.compiled === null || !rule.row.enabled) return;
    const id = newId();
    const record = run(due.ruleId, id, id, due.trigger, due.dueAtMs);
    const cools = acted(record) && rule.row.cooldown_ms > 0;
    // Stored at once: whoever controls after a crash or a takeover must know of it [rules §6.3].
    if (cools) recorder.hurry();
  };

  const run = (
    ruleId: number,
    executionId: string,
    correlationId: string,
    trigger: RunTrigger,
    dueAtMs: number,
  ): ExecutionRecord => {
    const { compiled, state } = rules.runnable(ruleId);
    const startedMs = clock.monotonicMs();
    const record = executeRule(compiled, snapshot, state, arbiter, port, plan, {
      executionId,
      correlationId,
      trigger,
      startedAt: timeLabel(clock.wallMs()),
      durationUs: () => Math.round((clock.monotonicMs() - startedMs) * 1000),
    });
    counts.executions++;
    measures.executed(record);
    const unchanged = rules.finished(ruleId, record);
    const scheduled = trigger.type !== 'manual';
    const endedMs = clock.monotonicMs();
    // Before the run is recorded: with it goes the state that it left behind, its cooldown included.
    scheduler.finished(ruleId, { scheduled, acted: acted(record), snapshot, dueAtMs, endedMs });
    recorder.record(record, unchanged);
    for (const point of arbiter.takeClaimed()) {
      const claim = arbiter.exportClaim(point, clock.monotonicMs(), clock.wallMs());
      recorder.claimed(`${point.instance}:${point.point_type}:${point.point}`, JSON.stringify(claim));
    }
    parts.publish(record);
    return record;
  };

  /** A manual order is a cycle of its own and ignores trigger and cooldown. */
  const runOrder = (order: Order): void => {
    if (clock.monotonicMs() >= order.untilMs) return order.reject(expired());
    const rule = rules.get(order.ruleId);
    if (rule === undefined) return order.reject(new Fault('not-found', `there is no rule ${order.ruleId}`));
    if (rule.compiled === null)
      return order.reject(
        new Fault('no-runnable-flow', 'the rule has no flow that can run', { details: { code: rule.failure } }),
      );
    if (!points.copyInto(snapshot)) {
      counts.torn_snapshots++;
      order.attemptsLeft--;
      if (order.attemptsLeft === 0)
        return order.reject(new Fault('engine-unavailable', 'live values cannot be read now; try again'));
      // Back to the head of the queue, not a timer of its own: only one cycle runs at a time.
      orders.unshift(order);
      return;
    }
    arbiter.beginCycle();
    const record = run(order.ruleId, newId(), order.correlationId, { type: 'manual' }, snapshot.monotonicMs);
    // Store before answering, so that the next query finds the run. A hanging disk must not turn a finished run into an error.
    const stored = recorder.settled(order.ruleId).then(() => undefined);
    void within(clock, Math.max(0, order.untilMs - clock.monotonicMs()), stored).then(() => order.resolve(record));
  };

  return {
    start() {
      running = true;
      ticker.start();
    },
    pointsChanged() {
      eventsDue = true;
      if (!inCycle) ask();
    },
    reload: (change) => {
      const { report, edited, removed } = rules.change(change);
      // What an edit dropped or kept must hold after a restart too, whether the rule ran in between or not.
      recorder.touch(edited);
      recorder.forget(removed);
      return report;
    },
    execute(order) {
      return new Promise((resolve, reject) => {
        if (!running || orders.length >= limits.max_waiting_executions) {
          reject(new Fault('engine-unavailable', 'the engine takes no more executions now; try again'));
          return;
        }
        orders.push({ ...order, attemptsLeft: snapshotAttempts, resolve, reject });
        if (!inCycle) ask();
      });
    },
    explain(ruleIds) {
      // Not the cycle's snapshot: a cycle may be between two slices.
      if (!points.copyInto(parts.statusSnapshot))
        throw new Fault('engine-unavailable', 'live values cannot be read now; try again');
      return ruleIds.map((ruleId) => rules.explain(ruleId, parts.statusSnapshot));
    },
    status: () => ({
      running,
      ...rules.counts(),
      tick_interval_ms: limits.tick_interval_ms,
      ...ticker.counts(),
      ...counts,
      queue_depth: counts.queue_depth + orders.length,
      records_waiting: recorder.waiting(),
      records_dropped: recorder.dropped(),
    }),
    measures: measures.read,
    writers: (wanted) => rules.writers(wanted),
    writeCycle: (ruleId) => rules.writeCycle(ruleId),
    stop() {
      running = false;
      ticker.stop();
      heldTimer?.cancel();
      for (const order of orders.splice(0)) order.reject(new Fault('engine-unavailable', 'the engine is stopping'));
    },
  };
}

function expired(): Fault {
  const message = 'the order expired before the rule engine began it: nothing was carried out; try again';
  return new Fault('engine-unavailable', message, { details: { order: 'expired' } });
}

/** Cooldown starts after a successful execution that performed at least one action [rules §6.3]; an outranked write is none. */
function acted(record: ExecutionRecord): boolean {
  return record.success && record.actions_executed.some((action) => action.success);
}

/** When the first of these points was observed; undefined when there are none. */
function oldest(points: readonly number[], snapshot: Snapshot): number | undefined {
  let sinceMs: number | undefined;
  for (const point of points) {
    const observedMs = snapshot.observedMs[point];
    if (observedMs !== undefined && observedMs < (sinceMs ?? Number.POSITIVE_INFINITY)) sinceMs = observedMs;
  }
  return sinceMs;
}
