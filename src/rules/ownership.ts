/** The owner of each action point, since when, and the refused writers [points §7.3]. Pure; the engine stores the segments. */
import { minuteMs } from '../base/timestamp.ts';
import type { ClockTimes } from './authority.ts';

type OwnerKind = 'limit' | 'override' | 'rule' | 'safe' | 'none';
export interface Owner {
  readonly kind: OwnerKind;
  /** For a rule its number as text, for an override or a limit its id. */
  readonly id: string;
  /** For an override or a limit its reason; empty for the others. */
  readonly name: string;
  /** Wall milliseconds; null without an end. */
  readonly untilMs: number | null;
}
export interface Contender {
  readonly kind: OwnerKind;
  readonly id: string;
  readonly name: string;
  readonly reason: string;
  /** Monotonic milliseconds of its last attempt. */
  readonly atMs: number;
}
/** A time span with one owner of the point. */
export interface OwnerSegment {
  /** Wall milliseconds. */
  readonly fromMs: number;
  readonly toMs: number | null;
  readonly owner: Owner;
  /** The last value written. */
  readonly value: number | null;
  readonly contenders: readonly Omit<Contender, 'atMs'>[];
}

export const noOwner: Owner = { kind: 'none', id: '', name: '', untilMs: null };

/** Maximum number of contenders in one segment. */
export const contendersMaximum = 16;
/** Cached closed segments of a point: more than can close before they are stored. */
const recentMaximum = 64;
/** Number of changes between rules per minute from which they form one segment. */
export const turnsPerMinute = 30;

interface Open {
  fromMs: number;
  owner: Owner;
  value: number | null;
  readonly contenders: Map<string, Contender>;
  /** Monotonic times of the last changes between rules. */
  readonly turnsMs: number[];
}

export interface ChangedSegment {
  readonly pointIndex: number;
  readonly segment: OwnerSegment;
}

export class Ownership {
  readonly #open = new Map<number, Open>();
  /** By point, the segments that closed last. */
  readonly #recent = new Map<number, OwnerSegment[]>();
  /** Closed since they were last taken. */
  #closed: ChangedSegment[] = [];
  readonly #touched = new Set<number>();

  /** The owner wrote `value`; undefined if it holds the point and has written nothing yet. */
  took(pointIndex: number, owner: Owner, value: number | undefined, now: ClockTimes): void {
    const open = this.#open.get(pointIndex);
    if (open === undefined || !isSame(open.owner, owner)) {
      if (open !== undefined && owner.kind === 'rule' && open.owner.kind === 'rule' && takesTurns(open, now)) {
        this.#note(open, { ...owner, reason: 'takes-turns', atMs: now.monotonicMs });
        open.value = value ?? open.value;
      } else this.#begin(pointIndex, owner, value ?? open?.value ?? null, now, open?.turnsMs ?? []);
      this.#touched.add(pointIndex);
      return;
    }
    if (value === undefined || value === open.value) return;
    open.value = value;
    this.#touched.add(pointIndex);
  }

  refused(pointIndex: number, contender: Contender): void {
    const open = this.#open.get(pointIndex);
    if (open === undefined) return;
    const known = open.contenders.get(`${contender.kind}:${contender.id}`);
    this.#note(open, contender);
    if (known?.reason !== contender.reason) this.#touched.add(pointIndex);
  }

  /** The owner no longer holds the point; the value stays until the next write. */
  left(pointIndex: number, id: string, now: ClockTimes): void {
    const open = this.#open.get(pointIndex);
    if (open?.owner.id !== id) return;
    this.#begin(pointIndex, noOwner, open.value, now, open.turnsMs);
    this.#touched.add(pointIndex);
  }

  ownerOf(pointIndex: number): Owner {
    return this.#open.get(pointIndex)?.owner ?? noOwner;
  }

  valueOf(pointIndex: number): number | null {
    return this.#open.get(pointIndex)?.value ?? null;
  }

  contendersOf(pointIndex: number): readonly Contender[] {
    return [...(this.#open.get(pointIndex)?.contenders.values() ?? [])];
  }

  /** Points whose rules alternate now, with the ids of these rules [points §7.3]. */
  takingTurns(now: ClockTimes): { readonly pointIndex: number; readonly ruleIds: readonly number[] }[] {
    return [...this.#open].flatMap(([pointIndex, open]) => {
      const turns = open.turnsMs.filter((ms) => now.monotonicMs - ms < minuteMs);
      // The one that began the newest segment is among them.
      if (open.owner.kind !== 'rule' || turns.length < turnsPerMinute - 1) return [];
      const recent = (this.#recent.get(pointIndex) ?? []).filter(({ toMs }) => (toMs ?? 0) > now.wallMs - minuteMs);
      const owners = [open.owner, ...recent.map(({ owner }) => owner), ...takers(open)];
      const ruleIds = [...new Set(owners.filter(({ kind }) => kind === 'rule').map(({ id }) => Number(id)))];
      return ruleIds.length < 2 ? [] : [{ pointIndex, ruleIds }];
    });
  }

  /** The newest segments of a point, the open one last; storage may lag behind. */
  segments(pointIndex: number): readonly OwnerSegment[] {
    const open = this.#open.get(pointIndex);
    return open === undefined ? [] : [...(this.#recent.get(pointIndex) ?? []), segmentOf(open, null)];
  }

  /** Segments to be stored: closed and changed ones. */
  takeChanged(): ChangedSegment[] {
    const open = [...this.#touched].flatMap((pointIndex) => {
      const open = this.#open.get(pointIndex);
      return open === undefined ? [] : [{ pointIndex, segment: segmentOf(open, null) }];
    });
    const taken = [...this.#closed, ...open];
    this.#closed = [];
    this.#touched.clear();
    return taken;
  }

  hasChanged(): boolean {
    return this.#closed.length + this.#touched.size > 0;
  }

  /** Restores the segment that was open when an earlier process ended. */
  restore(pointIndex: number, { fromMs, owner, value }: OwnerSegment): void {
    this.#open.set(pointIndex, { fromMs, owner, value, contenders: new Map(), turnsMs: [] });
  }

  #begin(pointIndex: number, owner: Owner, value: number | null, now: ClockTimes, turnsMs: number[]): void {
    const before = this.#open.get(pointIndex);
    // A wall clock that was set back must not make a segment end before it began.
    const fromMs = Math.max(now.wallMs, (before?.fromMs ?? Number.NEGATIVE_INFINITY) + 1);
    if (before !== undefined) this.#close(pointIndex, segmentOf(before, fromMs));
    if (owner.kind === 'rule' && before?.owner.kind === 'rule') turnsMs.push(now.monotonicMs);
    this.#open.set(pointIndex, { fromMs, owner, value, contenders: new Map(), turnsMs });
  }

  #close(pointIndex: number, segment: OwnerSegment): void {
    this.#closed.push({ pointIndex, segment });
    this.#recent.set(pointIndex, [...(this.#recent.get(pointIndex) ?? []).slice(1 - recentMaximum), segment]);
  }

  #note(open: Open, contender: Contender): void {
    const key = `${contender.kind}:${contender.id}`;
    if (!open.contenders.has(key) && open.contenders.size >= contendersMaximum) return;
    open.contenders.set(key, contender);
  }
}

function isSame(one: Owner, other: Owner): boolean {
  return one.kind === other.kind && one.id === other.id;
}

function takesTurns({ turnsMs }: Open, { monotonicMs }: ClockTimes): boolean {
  while (turnsMs.length > 0 && monotonicMs - (turnsMs[0] ?? 0) >= minuteMs) turnsMs.shift();
  return turnsMs.length >= turnsPerMinute;
}

function takers({ contenders }: Open): Contender[] {
  return [...contenders.values()].filter(({ reason }) => reason === 'takes-turns');
}

function segmentOf({ fromMs, owner, value, contenders }: Open, toMs: number | null): OwnerSegment {
  const named = [...contenders.values()].map(({ kind, id, name, reason }) => ({ kind, id, name, reason }));
  return { fromMs, toMs, owner, value, contenders: named };
}
