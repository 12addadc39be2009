/**
 * Enforces overrides and limits [points §7]: writes overrides, moves an actuator back inside its limits, ends expired grants,
 * and tracks the owner of each point. The engine calls it in each cycle, before rules run.
 */
import { Fault } from '../base/fault.ts';
import type { CommandWriter } from '../points/command-slots.ts';
import type { Arbiter, Ladder } from '../rules/arbiter.ts';
import type { ClockTimes, Grant, Override } from '../rules/authority.ts';
import { type Contender, noOwner, type Owner, type OwnerSegment } from '../rules/ownership.ts';
import type { PointFacts, PointRef, SiteCatalogue } from '../site/catalogue.ts';
import type { CommandSource } from '../site/command-port.ts';
import { type Snapshot, usable } from '../site/snapshot.ts';
import type { AutomationLimits } from './limits.ts';
import { type AuthorityStore, type EndedGrant, type SegmentRow, segmentOf } from './store/authority-store.ts';

export interface AuthorityKeeperParts {
  readonly catalogue: SiteCatalogue;
  readonly arbiter: Pick<Arbiter, 'heldUntil'>;
  readonly ladder: Ladder;
  readonly port: CommandWriter;
  readonly store: AuthorityStore;
  readonly limits: Pick<AutomationLimits, 'override_repeat_ms' | 'overrides_maximum' | 'contending_ms'>;
  readonly now: () => ClockTimes;
  /** Called for grants that expired. */
  readonly onEnded: (ended: readonly EndedGrant[]) => void;
  /** Accepts segments to be stored; never waits. */
  readonly onSegments: (rows: readonly SegmentRow[]) => void;
}

/** An action point with several writers that alternate. */
export interface PointTurns {
  readonly instance: number;
  readonly point: string;
  readonly ruleIds: readonly number[];
}

/** An override or a limit in force, and the override that it replaced. */
export interface AppliedGrant {
  readonly granted: Grant;
  readonly replaced: Override | null;
}

/** The engine's state of one action point. */
export interface PointAuthority {
  readonly owner: Owner;
  readonly command: {
    readonly value: number;
    readonly written: number;
    /** Wall milliseconds. */
    readonly atMs: number;
    readonly result: 'accepted' | 'written' | 'failed' | 'expired';
    readonly by: CommandSource;
  } | null;
  /** The newest segments, the open one last; storage may lag behind. */
  readonly segments: readonly OwnerSegment[];
  readonly next: NextOwner | null;
  /** The range allowed now; null for a point without limits. */
  readonly bounds: { readonly low: number; readonly high: number } | null;
}
interface NextOwner {
  readonly owner: Owner;
  /** Wall milliseconds; null if the time is unknown. */
  readonly atMs: number | null;
}

export class AuthorityKeeper {
  readonly #parts: AuthorityKeeperParts;
  /** By override id: when and under which generation it was last accepted. */
  readonly #written = new Map<string, { readonly atMs: number; readonly generation: number }>();
  /** Points with a safe value, and the number of its writes at the last check. */
  readonly #safeWrites = new Map<number, number>();
  readonly #guarded: readonly PointFacts[];
  #bounded = new Set<number>();

  constructor(parts: AuthorityKeeperParts) {
    this.#parts = parts;
    this.#guarded = parts.catalogue.points.filter((point) => point.holdMaxMs !== undefined);
    for (const { index } of this.#guarded) this.#safeWrites.set(index, parts.port.safeWrites(index));
  }

  /** Restores the grants of an earlier process; those that ended in the meantime have expired. */
  restore(grants: readonly Grant[], segments: readonly SegmentRow[]): void {
    const { catalogue, now, ladder, onEnded } = this.#parts;
    const moment = now();
    const byKey = new Map(catalogue.points.map((point) => [keyOf(point), point]));
    for (const row of segments) {
      const point = byKey.get(row.point);
      if (point !== undefined) ladder.ownership.restore(point.index, segmentOf(row));
    }
    const over: Grant[] = [];
    for (const grant of grants) {
      const point = catalogue.point({ instance: grant.instance, point_type: 'action', point: grant.point });
      const replaced = point === undefined ? null : ladder.authority.hold(grant, point.index, moment);
      // Of a point that no longer exists, or replaced right before a crash.
      if (point === undefined) over.push(grant);
      if (replaced !== null) over.push(replaced);
    }
    if (over.length > 0) onEnded(over.map((grant) => ({ grant, endedMs: moment.wallMs })));
    this.#measureNothing(moment);
  }

  /** One check of both clocks and the readings: ends, writes and limits what is due. */
  cycle(snapshot: Snapshot): void {
    const { authority } = this.#parts.ladder;
    const reading = (index: number, maxAgeMs: number): number | null =>
      usable(snapshot, index, maxAgeMs) ? (snapshot.values[index] ?? null) : null;
    authority.measure(reading, snapshot.monotonicMs);
    this.#end(authority.expire(snapshot), snapshot);
    this.#noteSafeValues(snapshot);
    this.#bound();
    for (const { pointIndex, grant } of authority.overrides()) this.#writeOverride(pointIndex, grant, snapshot);
    for (const index of authority.limited()) this.#keepInside(index, snapshot);
  }

  /** Stores the grant, then applies it. */
  async grant(grant: Grant, untilMs: number): Promise<AppliedGrant> {
    const { store, catalogue, limits, now, ladder } = this.#parts;
    const point = catalogue.point({ instance: grant.instance, point_type: 'action', point: grant.point });
    if (point === undefined) throw new Fault('not-found', 'the site has no such action point');
    if (ladder.authority.grants().length >= limits.overrides_maximum)
      throw new Fault(
        'invalid-input',
        `at most ${limits.overrides_maximum} overrides and limits at once; release some`,
      );
    const before = grant.kind === 'override' ? ladder.authority.overrideOf(point.index) : null;
    await store.put(grant, before === null ? [] : [before.id]);
    const moment = now();
    if (moment.monotonicMs >= untilMs) {
      if (before === null) await store.remove([grant.id]);
      else await store.put(before, [grant.id]);
      throw new Fault('engine-unavailable', 'the order expired before it could be carried out: nothing was changed');
    }
    const replaced = ladder.authority.hold(grant, point.index, moment);
    if (grant.kind === 'override') ladder.ownership.took(point.index, overrideOwner(grant), undefined, moment);
    // Another one was applied while this one was stored.
    if (replaced !== null && replaced.id !== before?.id) await store.remove([replaced.id]);
    return { granted: grant, replaced };
  }

  /** Ends a grant; null if no grant with this id is in force. */
  async release(id: string): Promise<Grant | null> {
    const { store, now, ladder } = this.#parts;
    const grant = ladder.authority.grants().find((each) => each.id === id);
    if (grant === undefined) return null;
    await store.remove([id]);
    // It may have expired in the meantime.
    if (ladder.authority.release(id) === null) return null;
    this.#leave(grant, now());
    this.flush();
    return grant;
  }

  grants(): readonly Grant[] {
    return this.#parts.ladder.authority.grants();
  }

  /** The action points whose writers alternate now. */
  turns(): PointTurns[] {
    const { catalogue, ladder, now } = this.#parts;
    return ladder.ownership.takingTurns(now()).flatMap(({ pointIndex, ruleIds }) => {
      const point = catalogue.points[pointIndex];
      return point === undefined ? [] : [{ instance: point.instance, point: point.name, ruleIds }];
    });
  }

  view(points: readonly PointRef[]): (PointAuthority | null)[] {
    const { catalogue, port, now, ladder } = this.#parts;
    const moment = now();
    return points.map((ref) => {
      const point = catalogue.point(ref);
      if (point === undefined) return null;
      const { index } = point;
      const command = port.last(index);
      const bounds = ladder.authority.bounds(point);
      return {
        owner: ladder.ownership.ownerOf(index),
        command:
          command === null
            ? null
            : {
                value: command.asked,
                written: command.value,
                atMs: Math.round(moment.wallMs + command.atMs - moment.monotonicMs),
                result: command.result,
                by: command.by,
              },
        segments: ladder.ownership.segments(index),
        next: this.#nextOwner(point, moment),
        bounds: bounds === null ? null : { low: bounds.low, high: bounds.high },
      };
    });
  }

  /** Hands over the changed segments of the account. */
  flush(): void {
    const { catalogue, onSegments, ladder } = this.#parts;
    if (!ladder.ownership.hasChanged()) return;
    onSegments(
      ladder.ownership.takeChanged().flatMap(({ pointIndex, segment }) => {
        const point = catalogue.points[pointIndex];
        if (point === undefined) return [];
        const { fromMs, toMs, ...state } = segment;
        return [{ point: keyOf(point), from_ms: fromMs, to_ms: toMs, state: JSON.stringify(state) }];
      }),
    );
  }

  #end(ended: readonly Grant[], now: ClockTimes): void {
    if (ended.length === 0) return;
    for (const grant of ended) this.#leave(grant, now);
    this.#parts.onEnded(ended.map((grant) => ({ grant, endedMs: now.wallMs })));
  }

  #leave(grant: Grant, now: ClockTimes): void {
    const { catalogue, ladder } = this.#parts;
    this.#written.delete(grant.id);
    const point = catalogue.point({ instance: grant.instance, point_type: 'action', point: grant.point });
    if (point === undefined) return;
    ladder.ownership.left(point.index, grant.id, now);
    const override = ladder.authority.overrideOf(point.index);
    // When a limit ends, the override that it clamped applies again.
    if (override !== null) ladder.ownership.took(point.index, overrideOwner(override), undefined, now);
  }

  #writeOverride(pointIndex: number, grant: Override, snapshot: Snapshot): void {
    const { catalogue, limits, ladder } = this.#parts;
    const point = catalogue.points[pointIndex];
    if (point === undefined) return;
    const last = this.#written.get(grant.id);
    const permitted = ladder.authority.permitted(point, grant.value);
    const repeatMs = Math.min(limits.override_repeat_ms, (point.holdMaxMs ?? Number.POSITIVE_INFINITY) / 2);
    const isDue =
      last === undefined ||
      last.generation !== snapshot.generation ||
      snapshot.monotonicMs - last.atMs >= repeatMs ||
      ladder.ownership.valueOf(pointIndex) !== permitted.value;
    if (!isDue || !this.#submit(point, grant.value, permitted.value, { kind: 'override', id: grant.id }, snapshot))
      return;
    this.#written.set(grant.id, { atMs: snapshot.monotonicMs, generation: snapshot.generation });
    const { limitedBy } = permitted;
    const owner: Owner = limitedBy === null ? overrideOwner(grant) : { kind: 'limit', ...limitedBy };
    ladder.ownership.took(pointIndex, owner, permitted.value, snapshot);
    if (limitedBy !== null)
      ladder.ownership.refused(pointIndex, { ...overrideOwner(grant), reason: 'limited', atMs: snapshot.monotonicMs });
  }

  /** A tightened limit also applies to the last write: the actuator is moved back inside. */
  #keepInside(index: number, snapshot: Snapshot): void {
    const { catalogue, ladder } = this.#parts;
    const point = catalogue.points[index];
    if (point === undefined) return;
    // The device may know the value of a point that was never written.
    const reading = usable(snapshot, index, point.maxAgeMs) ? (snapshot.values[index] ?? null) : null;
    const value = ladder.ownership.valueOf(index) ?? reading;
    if (value === null || ladder.authority.overrideOf(index) !== null) return;
    const { value: inside, limitedBy } = ladder.authority.permitted(point, value);
    if (limitedBy === null) return;
    const before = ladder.ownership.ownerOf(index);
    const by: CommandSource = { kind: 'limit', id: limitedBy.id };
    if (!this.#submit(point, value, inside, by, snapshot)) return;
    ladder.ownership.took(index, { kind: 'limit', ...limitedBy }, inside, snapshot);
    if (before.kind === 'rule')
      ladder.ownership.refused(index, { ...before, reason: 'limited', atMs: snapshot.monotonicMs });
  }

  #submit(point: PointFacts, asked: number, value: number, by: CommandSource, { generation }: Snapshot): boolean {
    const { port } = this.#parts;
    const priority = Number.POSITIVE_INFINITY;
    return port.submit({ pointIndex: point.index, value, priority, generation, asked, by }) === 'accepted';
  }

  /** Sends the device layer the bounds within which it may write the safe value. */
  #bound(): void {
    const { catalogue, port, ladder } = this.#parts;
    const limited = ladder.authority.limited();
    for (const index of [...this.#bounded].filter((each) => !limited.has(each)))
      port.bound(index, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
    for (const index of limited) {
      const point = catalogue.points[index];
      const bounds = point === undefined ? null : ladder.authority.bounds(point);
      if (bounds !== null) port.bound(index, bounds.low, bounds.high);
    }
    this.#bounded = new Set(limited);
  }

  /** Before the first reading the failsafe bounds. */
  #measureNothing({ monotonicMs }: ClockTimes): void {
    this.#parts.ladder.authority.measure(() => null, monotonicMs);
    this.#bound();
  }

  #noteSafeValues(now: ClockTimes): void {
    const { port, ladder } = this.#parts;
    for (const point of this.#guarded) {
      const { index } = point;
      const count = port.safeWrites(index);
      if (count === this.#safeWrites.get(index)) continue;
      this.#safeWrites.set(index, count);
      const bounds = ladder.authority.bounds(point);
      const { safeValue: value } = point;
      const isFree = value === undefined || bounds === null;
      const written = isFree ? value : Math.min(Math.max(value, bounds.low), bounds.high);
      if (ladder.authority.overrideOf(index) === null) ladder.ownership.took(index, safeOwner, written, now);
    }
  }

  /** The owner after the present one ends. */
  #nextOwner(point: PointFacts, now: ClockTimes): NextOwner | null {
    const { arbiter, ladder, port, limits } = this.#parts;
    const { ownership } = ladder;
    const owner = ownership.ownerOf(point.index);
    if (owner.kind === 'none' || owner.kind === 'safe') return null;
    const wall = (monotonicMs: number): number => Math.round(now.wallMs + monotonicMs - now.monotonicMs);
    const contender = newest(ownership.contendersOf(point.index), now.monotonicMs - limits.contending_ms);
    const last = port.last(point.index);
    const safeAtMs = point.holdMaxMs === undefined || last === null ? null : wall(last.atMs + point.holdMaxMs);
    const safe = point.holdMaxMs === undefined ? null : safeOwner;
    if (owner.kind === 'rule') {
      const hold = arbiter.heldUntil(point);
      if (contender !== null && hold !== null) return { owner: ownerFrom(contender), atMs: wall(hold.untilMs) };
      return safe === null ? null : { owner: safe, atMs: safeAtMs };
    }
    if (contender !== null) return { owner: ownerFrom(contender), atMs: owner.untilMs };
    return { owner: safe ?? noOwner, atMs: safe === null ? owner.untilMs : null };
  }
}

function newest(contenders: readonly Contender[], sinceMs: number): Contender | null {
  const recent = contenders.filter(({ atMs }) => atMs >= sinceMs);
  return recent.toSorted((one, other) => other.atMs - one.atMs)[0] ?? null;
}

function ownerFrom({ kind, id, name }: Contender): Owner {
  return { kind, id, name, untilMs: null };
}

function overrideOwner({ id, reason, untilMs }: Override): Owner {
  return { kind: 'override', id, name: reason, untilMs };
}

const safeOwner: Owner = { kind: 'safe', id: '', name: '', untilMs: null };

function keyOf({ instance, point_type: kind, point }: PointFacts): string {
  return `${instance}:${kind}:${point}`;
}
