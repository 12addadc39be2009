/**
 * The grants of the world's operator [points §7], as far as an outside observer can know: an acknowledged order is active from
 * then to its end; one whose answer was lost may be active. `invariants.ts` checks the consequences.
 */
import { worldSite } from './world-site.ts';

type HandKind = 'override' | 'limit';

interface Hand {
  readonly key: string;
  readonly kind: HandKind;
  /** Of an override its value, twice. */
  readonly min: number;
  readonly max: number;
  readonly askedMs: number;
  id: string | null;
  /** Since when it holds for certain; null while that is not known, or not any more. */
  heldMs: number | null;
  /** Certainly ended from then on. */
  overMs: number;
}

/** An order is executed within this time of the request, or never: half of its caller's timeout. */
const carriedOutMs = 10_000;

export class Hands {
  readonly #now: () => number;
  #hands: Hand[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  asked(key: string, kind: HandKind, [min, max]: readonly [number, number], durationMs: number): Hand {
    const nowMs = this.#now();
    // An expired grant may still have been sent a moment ago.
    this.#hands = this.#hands.filter(({ overMs }) => overMs > nowMs - 60_000);
    const hand = {
      key,
      kind,
      min,
      max,
      askedMs: nowMs,
      id: null,
      heldMs: null,
      overMs: nowMs + carriedOutMs + durationMs,
    };
    this.#hands.push(hand);
    return hand;
  }

  answered(hand: Hand, id: string, endMs: number): void {
    const nowMs = this.#now();
    if (hand.kind === 'override')
      for (const each of this.#of(hand.key, 'override'))
        if (each !== hand && each.askedMs <= hand.askedMs) each.overMs = Math.min(each.overMs, nowMs);
    hand.id = id;
    hand.heldMs = nowMs;
    hand.overMs = endMs;
  }

  /** Refused as invalid: it was never active. */
  refused(hand: Hand): void {
    this.#hands = this.#hands.filter((each) => each !== hand);
  }

  /** Those that an operator could release, the oldest first. */
  ids(): string[] {
    return this.#alive(this.#hands).flatMap(({ id }) => id ?? []);
  }

  /** Whether its release was executed is not known until it is answered. */
  releasing(id: string): void {
    for (const hand of this.#hands) if (hand.id === id) hand.heldMs = null;
  }

  released(id: string): void {
    for (const hand of this.#hands) if (hand.id === id) hand.overMs = Math.min(hand.overMs, this.#now());
  }

  /** Whether somebody's hand explains that this value was written, when what is over may be on its way for so long. */
  explains(key: string, value: number, lateMs: number): boolean {
    const living = this.#near(key, lateMs);
    // A limit changes what an override writes, and brings the present value inside.
    return living.some(({ min, max }) => [min, max].some((each) => Math.abs(each - value) < 1e-6));
  }

  /** Whether a command from a grant may be on its way. */
  mayWrite(key: string, lateMs: number): boolean {
    return this.#near(key, lateMs).length > 0;
  }

  /** The override that has been active on the point for this long, and stays so for as long. */
  holding(key: string, sinceMs: number): number | null {
    const nowMs = this.#now();
    const all = this.#of(key, 'override').filter(({ overMs }) => overMs + sinceMs > nowMs);
    const [only] = all;
    const isSure =
      all.length === 1 &&
      only !== undefined &&
      only.heldMs !== null &&
      nowMs - only.heldMs >= sinceMs &&
      only.overMs - nowMs >= sinceMs;
    return isSure ? only.min : null;
  }

  /** Whether a limit of the point may hold, or may have held within this time: its effect ends that much later. */
  mayLimit(key: string, lateMs: number): boolean {
    return this.#near(key, lateMs).some(({ kind }) => kind === 'limit');
  }

  /**
   * Within what every value must lie that is written now: limits that have held for so long. Where two cross the upper one holds, and
   * a command that was accepted under one that has just ended may be on its way for as long.
   */
  bounds(key: string, sinceMs: number): readonly [number, number] {
    const nowMs = this.#now();
    const sure = this.#alive(this.#of(key, 'limit')).filter(
      ({ heldMs, overMs }) => heldMs !== null && nowMs - heldMs >= sinceMs && overMs - nowMs >= sinceMs,
    );
    const near = this.#near(key, sinceMs).filter(({ kind }) => kind === 'limit');
    const upper = Math.min(...near.map(({ max }) => max));
    const max = Math.min(...sure.map((limit) => limit.max));
    return [Math.min(upper, Math.max(...sure.map((limit) => limit.min))), max];
  }

  #near(key: string, lateMs: number): Hand[] {
    return this.#hands.filter((hand) => hand.key === key && hand.overMs + lateMs >= this.#now());
  }

  #of(key: string, kind: HandKind): Hand[] {
    return this.#hands.filter((hand) => hand.key === key && hand.kind === kind);
  }

  #alive(hands: readonly Hand[]): Hand[] {
    return hands.filter(({ overMs }) => overMs > this.#now());
  }
}

/** Action points that an operator overrides, with the register that shows the value. */
export const handPoints = worldSite.points.flatMap((point) => {
  const { kind, instance, id, address, channel, min, max } = point;
  if (kind !== 'action' || address === undefined || !('register' in address)) return [];
  if (min === undefined || max === undefined) return [];
  const device = worldSite.channels[channel]?.id ?? '';
  return [
    {
      key: `${instance}:action:${id}`,
      instance,
      point: id,
      min,
      max,
      device,
      register: address.register,
      facts: point,
    },
  ];
});
