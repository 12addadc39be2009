/**
 * The invariants of the world at every step, whatever fails [rules §6]: checked from outside, from the commands at devices, the
 * records and the answers to callers.
 */
import { automationLimits } from '../../automation/limits.ts';
import type { ActionRecord, ExecutionRecord } from '../../rules/record.ts';
import type { SitePoint } from '../../site/site.ts';
import type { Hands } from './hands.ts';
import type { DeviceWrite } from './plant.ts';
import { registerValue, worldSite } from './world-site.ts';

/** A command is sent within its maximum age, and an earlier request may occupy the channel until its timeout. */
const commandLifeMs = 1000 + 400 + 50;
/** Changes accepted in the last moment before a kill may not be stored yet [rules §6.3]. */
const storedWithinMs = 60;
/** The same for the last action of a rule without a cooldown: the next flush after `history_block_ms`, and its commit. */
const softStoredWithinMs = automationLimits.history_block_ms + automationLimits.state_flush_ms + 300;

/** A record is known within a tick and its transfer. */
const overriddenWithinMs = 150;

interface Accepted {
  readonly atMs: number;
  readonly written: number;
  readonly ruleId: number;
  readonly priority: number;
  /** A crash may have lost what had to be remembered of it. */
  forgotten: boolean;
}

export interface RuleFacts {
  readonly cooldownMs: number;
  readonly priority: number;
  readonly trigger: string;
}

export class Invariants {
  readonly violations: string[] = [];
  readonly #now: () => number;
  readonly #hands: Hands;
  /** Accepted commands of each point, the newest last. */
  readonly #accepted = new Map<string, Accepted[]>();
  /** By rule and revision, as far as answers told them. */
  readonly #rules = new Map<string, RuleFacts>();
  /** When each rule last acted, and its cooldown at that time. */
  readonly #lastActed = new Map<number, { atMs: number; cooldownMs: number }>();
  /** The inputs of each rule's last run, and its trigger then. */
  readonly #lastSeen = new Map<
    number,
    { readonly value: number | null; readonly trigger: string; readonly atMs: number }
  >();
  readonly #refusedOrders = new Set<string>();
  /** Executions that must be stored by now, with the moment of the run. */
  readonly #recorded = new Map<string, number>();
  /** Since when nothing is certain of what a disk that fails holds. */
  #diskBadSinceMs: number | null = null;
  #generationSinceMs = 0;
  #gapSinceMs = 0;

  constructor(now: () => number, hands: Hands) {
    this.#now = now;
    this.#hands = hands;
  }

  violate(what: string): void {
    this.violations.push(`${(this.#now() / 1000).toFixed(3)} s: ${what}`);
  }

  knows(ruleId: number, revision: number, facts: RuleFacts): void {
    this.#rules.set(`${ruleId}@${revision}`, facts);
    // Under another trigger nothing is known of what the previous one had seen, even if that one returns.
    if (this.#lastSeen.get(ruleId)?.trigger !== facts.trigger) this.#lastSeen.delete(ruleId);
  }

  /** Some point was unavailable, or may have been: the next value of each may trigger, even if equal. */
  gap(): void {
    this.#gapSinceMs = this.#now();
  }

  newGeneration(): void {
    this.#generationSinceMs = this.#now();
    this.gap();
  }

  disk(isBad: boolean): void {
    this.#diskBadSinceMs = isBad ? (this.#diskBadSinceMs ?? this.#now()) : null;
  }

  orderRefused(correlationId: string): void {
    this.#refusedOrders.add(correlationId);
  }

  record(record: ExecutionRecord): void {
    const facts = this.#rules.get(`${record.rule_id}@${record.rule_revision}`);
    if (this.#refusedOrders.has(record.correlation_id))
      this.violate(`rule ${record.rule_id}: an order that was answered 503 was carried out`);
    if (facts !== undefined) this.#cooldown(record, facts);
    this.#change(record, facts);
    for (const action of record.actions_executed) this.#action(record, action, facts);
    if (record.success && record.actions_executed.some(({ success }) => success))
      this.#lastActed.set(record.rule_id, { atMs: this.#now(), cooldownMs: facts?.cooldownMs ?? 0 });
    if (record.outcome === 'acted' || record.outcome === 'failed') this.#recorded.set(record.execution_id, this.#now());
  }

  #cooldown(record: ExecutionRecord, { cooldownMs }: RuleFacts): void {
    if (record.trigger.type === 'manual' || cooldownMs === 0) return;
    const last = this.#lastActed.get(record.rule_id)?.atMs;
    if (last !== undefined && this.#now() - last < cooldownMs)
      this.violate(
        `rule ${record.rule_id} ran ${this.#now() - last} ms after it acted; its cooldown is ${cooldownMs} ms`,
      );
  }

  /**
   * [rules §3.2]: an on-change rule runs because its point differs from what its last run read, or after a gap. A virtual point may have
   * gone there and back in between, which is a change too.
   */
  #change(record: ExecutionRecord, facts: RuleFacts | undefined): void {
    const value = record.variable_values['x'] ?? null;
    const last = this.#lastSeen.get(record.rule_id);
    const trigger = facts?.trigger ?? '';
    if (facts === undefined) this.#lastSeen.delete(record.rule_id);
    else this.#lastSeen.set(record.rule_id, { value, trigger, atMs: this.#now() });
    if (record.trigger.type !== 'on_change' || record.trigger.point?.instance === 3) return;
    if (last === undefined || last.value === null || last.value !== value || last.trigger !== trigger) return;
    // A gap lasts for some time after what began it.
    if (last.atMs > this.#gapSinceMs + 15_000)
      this.violate(`rule ${record.rule_id} ran on a change from ${last.value} to ${value}`);
  }

  #action(record: ExecutionRecord, action: ActionRecord, facts: RuleFacts | undefined): void {
    const point = pointOf(action);
    const key = `${action.instance}:${action.point_type}:${action.point}`;
    const before = this.#accepted.get(key) ?? [];
    // A new revision can run before its writer gets the answer. Its priority is unknown then: NaN makes every comparison false.
    const priority = facts?.priority ?? Number.NaN;
    const last = before.at(-1);
    if (!action.success) {
      const waits = last !== undefined && this.#now() - last.atMs < 400 && !this.#hands.mayWrite(key, commandLifeMs);
      if (action.reason === 'unavailable' && waits && last.priority <= priority)
        this.violate(`${key}: priority ${priority} was refused for a command of priority ${last.priority}`);
      return;
    }
    if (this.#hands.holding(key, overriddenWithinMs) !== null)
      this.violate(`${key}: rule ${record.rule_id} wrote it while an override holds it`);
    const { written } = action;
    if (written === undefined) return this.violate(`${key}: accepted without what was written`);
    this.#inRange(key, written, point);
    for (const { atMs, priority: held, ruleId, forgotten } of before) {
      const isHeld =
        !forgotten && this.#now() - atMs < point.priorityHoldMs && ruleId !== record.rule_id && priority < held;
      if (isHeld && atMs === last?.atMs)
        this.violate(`${key}: priority ${priority} wrote during the hold of priority ${held}`);
    }
    const { maxWritesPerMinute } = point;
    const inMinute = before.filter(({ atMs, forgotten }) => !forgotten && this.#now() - atMs < 60_000).length;
    if (maxWritesPerMinute !== undefined && inMinute >= maxWritesPerMinute)
      this.violate(`${key}: written ${inMinute + 1} times in a minute`);
    const kept = before.filter(({ atMs }) => this.#now() - atMs < 70_000);
    this.#accepted.set(key, [
      ...kept,
      { atMs: this.#now(), written, ruleId: record.rule_id, priority, forgotten: false },
    ]);
  }

  #inRange(key: string, written: number, { min, max, step }: SitePoint): void {
    if ((min !== undefined && written < min) || (max !== undefined && written > max))
      this.violate(`${key}: ${written} is outside ${min} to ${max}`);
    if (step !== undefined && Math.abs(written / step - Math.round(written / step)) > 1e-9)
      this.violate(`${key}: ${written} is no multiple of ${step}`);
  }

  /**
   * A point that was looked at again and again and kept its value: an on-change rule without other gates must have seen it. One that
   * saw another value in that time saw what the looks missed: the point went there and back in between. Returns what is wrong.
   */
  missed(ruleId: number, trigger: string, { value, sinceMs }: { value: number; sinceMs: number }): string | null {
    const last = this.#lastSeen.get(ruleId);
    if (last === undefined || last.trigger !== trigger || last.value === null || last.atMs >= sinceMs) return null;
    return last.value === value ? null : `rule ${ruleId} last saw ${last.value}, and its point has been ${value} since`;
  }

  /** A device received a value: it must be a command accepted a moment ago, under this generation. */
  written({ device, register, raw }: DeviceWrite): void {
    const point = worldSite.points.find(
      ({ kind, address, channel }) =>
        kind === 'action' &&
        worldSite.channels[channel]?.id === device &&
        address !== undefined &&
        'register' in address &&
        address.register === register,
    );
    if (point === undefined) return this.violate(`${device}: register ${register} was written and has no point`);
    const value = registerValue(point, raw);
    const key = `${point.instance}:action:${point.id}`;
    const accepted = this.#accepted.get(key) ?? [];
    const sources = accepted.filter(({ written }) => Math.abs(written - value) < 1e-6);
    const source = sources.at(-1);
    const [least, most] = this.#hands.bounds(key, commandLifeMs);
    if (value < least || value > most)
      this.violate(`${key}: ${value} was written outside the limits ${least} to ${most}`);
    if (this.#hands.explains(key, value, commandLifeMs)) return;
    if (source === undefined) return this.violate(`${key}: ${value} was written and never accepted`);
    if (this.#now() - source.atMs > commandLifeMs)
      this.violate(`${key}: ${value} was written ${this.#now() - source.atMs} ms after it was accepted`);
    // A request on the wire when the layer was restarted is the last one of the old layer.
    if (source.atMs < this.#generationSinceMs && this.#now() - this.#generationSinceMs > 10)
      this.violate(`${key}: ${value} is a command of an older generation`);
  }

  /** The process was killed. */
  killed(): void {
    this.engineEnded();
    this.newGeneration();
  }

  /** The engine's thread has ended: what was not certain to be on the disk is forgotten here too. */
  engineEnded(): void {
    const certainMs = Math.min(this.#diskBadSinceMs ?? Number.POSITIVE_INFINITY, this.#now() - storedWithinMs);
    // When a rule without a cooldown acted is stored with its other state: one that it is given later may know of an earlier run.
    for (const [ruleId, { atMs, cooldownMs }] of this.#lastActed)
      if (atMs > (cooldownMs > 0 ? certainMs : certainMs - softStoredWithinMs)) this.#lastActed.delete(ruleId);
    for (const list of this.#accepted.values())
      for (const command of list) if (command.atMs > certainMs) command.forgotten = true;
    // Runs wait for up to `record_flush_ms` and one commit.
    for (const [id, atMs] of this.#recorded) if (atMs > certainMs - 300) this.#recorded.delete(id);
    this.#lastSeen.clear();
    this.gap();
  }

  /** Each of `ids` must be among the stored executions; none of them is checked again. */
  stored(ids: readonly string[], found: ReadonlySet<string>): void {
    for (const id of ids) {
      if (!found.has(id)) this.violate(`execution ${id} is not in the history`);
      this.#recorded.delete(id);
    }
  }

  /** To be called while nothing fails: the executions that must be stored by now. */
  dueInStore(): ReadonlyMap<string, number> {
    return this.#recorded;
  }
}

function pointOf({ instance, point_type, point }: ActionRecord): SitePoint {
  const found = worldSite.points.find(
    (each) => each.instance === instance && each.kind === point_type && each.id === point,
  );
  if (found === undefined) throw new Error('a record names a point that the world does not have');
  return found;
}
