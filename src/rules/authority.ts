/**
 * Overrides and limits of an action point [points §7]: an override holds its value, and limits apply to every write,
 * overrides included. Both expire. Pure: the engine supplies both clocks and the readings.
 */
import type { PointFacts } from '../site/catalogue.ts';
import type { LimitBound, StandingLimit } from '../site/standing-limits.ts';
import { settled } from './step.ts';

/** Both clocks at one moment. */
export interface ClockTimes {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

interface GrantFacts {
  readonly id: string;
  readonly instance: number;
  /** Number of the action point in its instance. */
  readonly point: number;
  /** Wall milliseconds. */
  readonly fromMs: number;
  readonly untilMs: number;
  readonly by: { readonly kind: string; readonly id: string };
  readonly reason: string;
}
export interface Override extends GrantFacts {
  readonly kind: 'override';
  readonly value: number;
}
interface Limit extends GrantFacts {
  readonly kind: 'limit';
  readonly min: number | null;
  readonly max: number | null;
}
/** A person's temporary authority over one point. */
export type Grant = Override | Limit;

/** The current range of a point, and the limit behind each bound. */
export interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly lowBy: BoundSource | null;
  readonly highBy: BoundSource | null;
}
interface BoundSource {
  readonly id: string;
  readonly name: string;
  /** Wall milliseconds; null for a standing limit. */
  readonly untilMs: number | null;
}

/** The value to be written instead of another, and the limit that changed it. */
export interface Permitted {
  readonly value: number;
  readonly limitedBy: BoundSource | null;
}

/** A reading that may bound an actuator. */
export type ReadingOf = (pointIndex: number, maxAgeMs: number) => number | null;

interface Held {
  readonly grant: Grant;
  readonly pointIndex: number;
  /** Monotonic milliseconds: a wall clock that is set back cannot prolong a grant. */
  readonly endsMs: number;
}

interface Standing {
  readonly limit: StandingLimit;
  readonly low: MeasuredBound | null;
  readonly high: MeasuredBound | null;
}

const none: ReadonlySet<number> = new Set();

export class Authority {
  readonly #held = new Map<string, Held>();
  readonly #overrides = new Map<number, Held>();
  /** Temporary limits by point. */
  readonly #limits = new Map<number, Held[]>();
  readonly #standing = new Map<number, Standing[]>();

  constructor(standing: readonly StandingLimit[] = []) {
    for (const limit of standing) {
      const { failsafe } = limit;
      const boundOf = (bound: LimitBound | undefined) =>
        bound === undefined ? null : new MeasuredBound(bound, failsafe?.value ?? 0, failsafe?.afterMs ?? 0);
      const entry = { limit, low: boundOf(limit.min), high: boundOf(limit.max) };
      this.#standing.set(limit.targetIndex, [...(this.#standing.get(limit.targetIndex) ?? []), entry]);
    }
  }

  /** Applies a grant; returns the override that it replaces. */
  hold(grant: Grant, pointIndex: number, now: ClockTimes): Override | null {
    const spanMs = grant.untilMs - grant.fromMs;
    const leftMs = Math.min(grant.untilMs - now.wallMs, spanMs);
    const held = { grant, pointIndex, endsMs: now.monotonicMs + leftMs };
    let replaced: Override | null = null;
    if (grant.kind === 'override') {
      const before = this.#overrides.get(pointIndex)?.grant;
      if (before?.kind === 'override' && before.id !== grant.id) replaced = before;
      if (replaced !== null) this.#held.delete(replaced.id);
      this.#overrides.set(pointIndex, held);
    } else this.#limits.set(pointIndex, [...(this.#limits.get(pointIndex) ?? []), held]);
    this.#held.set(grant.id, held);
    return replaced;
  }

  release(id: string): Grant | null {
    const held = this.#held.get(id);
    if (held === undefined) return null;
    this.#held.delete(id);
    if (this.#overrides.get(held.pointIndex) === held) this.#overrides.delete(held.pointIndex);
    const left = (this.#limits.get(held.pointIndex) ?? []).filter((each) => each !== held);
    if (left.length > 0) this.#limits.set(held.pointIndex, left);
    else this.#limits.delete(held.pointIndex);
    return held.grant;
  }

  /** Ends grants that have expired by either clock. */
  expire(now: ClockTimes): Grant[] {
    if (this.#held.size === 0) return [];
    const over = [...this.#held.values()].filter(({ grant, endsMs }) => hasEnded(grant, endsMs, now));
    for (const { grant } of over) this.release(grant.id);
    return over.map(({ grant }) => grant);
  }

  /** Takes the current readings that standing limits follow. */
  measure(readingOf: ReadingOf, nowMs: number): void {
    for (const entries of this.#standing.values())
      for (const { low, high } of entries) {
        low?.measure(readingOf, nowMs);
        high?.measure(readingOf, nowMs);
      }
  }

  overrideOf(pointIndex: number): Override | null {
    const grant = this.#overrides.get(pointIndex)?.grant;
    return grant?.kind === 'override' ? grant : null;
  }

  grants(): readonly Grant[] {
    return [...this.#held.values()].map(({ grant }) => grant);
  }

  overrides(): readonly { readonly pointIndex: number; readonly grant: Override }[] {
    return [...this.#overrides.values()].flatMap(({ pointIndex, grant }) =>
      grant.kind === 'override' ? [{ pointIndex, grant }] : [],
    );
  }

  /** Points with a limit. */
  limited(): ReadonlySet<number> {
    if (this.#limits.size + this.#standing.size === 0) return none;
    return new Set([...this.#limits.keys(), ...this.#standing.keys()]);
  }

  /** The value within all limits of the point. */
  permitted(point: PointFacts, value: number): Permitted {
    const bounds = this.bounds(point);
    if (bounds === null) return { value, limitedBy: null };
    const within = bounded(value, point, bounds);
    return { value: within, limitedBy: within === value ? null : value > within ? bounds.highBy : bounds.lowBy };
  }

  /** The tightest of all limits of a point, within its range; null without limits. If they cross, `max` applies. */
  bounds(point: Pick<PointFacts, 'index' | 'min' | 'max'>): Bounds | null {
    const [limits, standing] = [this.#limits.get(point.index), this.#standing.get(point.index)];
    if (limits === undefined && standing === undefined) return null;
    const lows: [number, BoundSource][] = [];
    const highs: [number, BoundSource][] = [];
    for (const { grant } of limits ?? []) {
      if (grant.kind !== 'limit') continue;
      const source = { id: grant.id, name: grant.reason, untilMs: grant.untilMs };
      if (grant.min !== null) lows.push([grant.min, source]);
      if (grant.max !== null) highs.push([grant.max, source]);
    }
    for (const { limit, low, high } of standing ?? []) {
      const source = { id: limit.id, name: limit.id, untilMs: null };
      if (low !== null) lows.push([low.value, source]);
      if (high !== null) highs.push([high.value, source]);
    }
    const range = { low: point.min ?? Number.NEGATIVE_INFINITY, high: point.max ?? Number.POSITIVE_INFINITY };
    const within = (value: number): number => Math.min(Math.max(value, range.low), range.high);
    const [low, lowBy] = lows.reduce<[number, BoundSource | null]>(
      (least, [value, source]) => (within(value) > least[0] ? [within(value), source] : least),
      [range.low, null],
    );
    const [high, highBy] = highs.reduce<[number, BoundSource | null]>(
      (most, [value, source]) => (within(value) < most[0] ? [within(value), source] : most),
      [range.high, null],
    );
    return low > high ? { low: high, high, lowBy: highBy, highBy } : { low, high, lowBy, highBy };
  }
}

/** The value to be written instead of `value` within the bounds: a step inside them, or without one the bound itself. */
function bounded(value: number, point: PointFacts, { low, high }: Pick<Bounds, 'low' | 'high'>): number {
  if (value >= low && value <= high) return value;
  const bound = value > high ? high : low;
  const narrowed = { ...point, min: Math.max(low, point.min ?? low), max: Math.min(high, point.max ?? high) };
  return settled(bound, narrowed) ?? steppedDown(high, point) ?? high;
}

/** No step lies between the bounds: `max` applies. */
function steppedDown(high: number, point: PointFacts): number | null {
  return settled(high - (point.step ?? 0) / 2, { ...point, max: high });
}

function hasEnded(grant: Grant, endsMs: number, now: ClockTimes): boolean {
  return now.wallMs >= grant.untilMs || now.monotonicMs >= endsMs;
}

/** One bound of a standing limit: a number, or a reading as long as it is usable [points §7.2]. */
class MeasuredBound {
  readonly #bound: LimitBound;
  readonly #failsafe: number;
  readonly #afterMs: number;
  #last: number | null = null;
  #usableMs = Number.NEGATIVE_INFINITY;
  #nowMs = 0;

  constructor(bound: LimitBound, failsafe: number, afterMs: number) {
    this.#bound = bound;
    this.#failsafe = failsafe;
    this.#afterMs = afterMs;
  }

  measure(readingOf: ReadingOf, nowMs: number): void {
    this.#nowMs = nowMs;
    if (this.#bound.from === undefined) return;
    const reading = readingOf(this.#bound.from.index, this.#bound.from.maxAgeMs);
    if (reading === null) return;
    this.#last = reading;
    this.#usableMs = nowMs;
  }

  /** The reading, its last value for `after_ms` after it became unusable, then the failsafe; before the first reading too. */
  get value(): number {
    if (this.#bound.from === undefined) return this.#bound.value;
    return this.#last !== null && this.#nowMs - this.#usableMs <= this.#afterMs ? this.#last : this.#failsafe;
  }
}
