/**
 * The first moment at which two rules differ [rules §10.1], found while both advance: a window contains millions of runs,
 * and each is stored only until the other rule has caught up.
 */
import { timeLabel } from '../../base/timestamp.ts';
import type { RuleRun } from '../executor.ts';

/** A rule's decision, which holds until its next one. */
interface Doing {
  readonly outcome: string;
  readonly path: readonly string[];
  readonly writes: readonly { readonly instance: number; readonly point: number; readonly value: number | null }[];
}

type DoneRun = Pick<RuleRun, 'outcome' | 'actions'>;

export interface FirstDivergence {
  readonly at: string;
  /** Null if the rule had not run yet. */
  readonly baseline: Doing | null;
  readonly candidate: Doing | null;
}

export class Divergence {
  readonly #baseline = new Decisions();
  readonly #candidate = new Decisions();
  #first: FirstDivergence | null = null;

  note(side: 'baseline' | 'candidate', atMs: number, path: Doing['path'], run: DoneRun): void {
    if (this.#first !== null) return;
    (side === 'baseline' ? this.#baseline : this.#candidate).add(atMs, path, run);
  }

  /** To be called when both rules have run up to that moment, exclusive. */
  settle(endMs: number): void {
    while (this.#first === null) {
      const atMs = Math.min(this.#baseline.nextMs(), this.#candidate.nextMs());
      if (atMs >= endMs) return;
      const [baseline, candidate] = [this.#baseline.at(atMs), this.#candidate.at(atMs)];
      if (!isSame(baseline, candidate)) this.#first = { at: timeLabel(atMs), baseline, candidate };
    }
  }

  /** Null if they never differed. */
  end(): FirstDivergence | null {
    this.settle(Number.POSITIVE_INFINITY);
    return this.#first;
  }
}

/** Settled decisions are dropped in batches of this size. */
const droppedAtOnce = 1000;

class Decisions {
  #settled: Doing | null = null;
  /** Later ones, by time. */
  #pending: { readonly atMs: number; readonly doing: Doing }[] = [];
  /** Number of settled ones. */
  #taken = 0;

  add(atMs: number, path: Doing['path'], { outcome, actions }: DoneRun): void {
    const last = this.#pending.at(-1)?.doing ?? this.#settled;
    const isRepeated =
      last?.path === path &&
      last.outcome === outcome &&
      last.writes.every(({ value }, index) => value === (actions[index]?.written ?? null));
    if (isRepeated) return;
    const writes = actions.map(({ instance, point, written }) => ({ instance, point, value: written ?? null }));
    this.#pending.push({ atMs, doing: { outcome, path, writes } });
  }

  nextMs(): number {
    return this.#pending[this.#taken]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** The rule's decision at that moment; moments must not go backwards. */
  at(atMs: number): Doing | null {
    for (; this.nextMs() <= atMs; this.#taken++) this.#settled = this.#pending[this.#taken]?.doing ?? null;
    if (this.#taken >= droppedAtOnce || this.#taken === this.#pending.length) {
      this.#pending.splice(0, this.#taken);
      this.#taken = 0;
    }
    return this.#settled;
  }
}

function isSame(a: Doing | null, b: Doing | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.outcome === b.outcome &&
    a.path.length === b.path.length &&
    a.path.every((node, index) => node === b.path[index]) &&
    a.writes.length === b.writes.length &&
    a.writes.every(({ instance, point, value }, index) => {
      const other = b.writes[index];
      return instance === other?.instance && point === other.point && value === other.value;
    })
  );
}
