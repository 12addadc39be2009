/** Portions in which stored rules are loaded into an engine [rules §6.4]: small at first, so that the first rules run soon. */
import type { RuleHead } from './store/rule-store.ts';

export interface Portion {
  /** To be read. */
  readonly ids: readonly number[];
  /** Held, but no longer stored. */
  readonly removed: readonly number[];
  readonly partial: boolean;
}

/** Sizes of the first and of the largest portion: what the engine loads in one turn. */
const portionMinimum = 200;
const portionMaximum = 500;
/** Maximum number of rules per message, and approximate number of bytes: what either thread handles in one turn. */
export const stageMinimum = 4;
export const stageMaximum = 100;
const stageBytes = 262_144;

/** Edited rules first, then enabled ones by priority: disabled rules wait longest. */
function inLoadingOrder(held: ReadonlyMap<number, number>, a: RuleHead, b: RuleHead): number {
  return (
    Number(held.has(b.id)) - Number(held.has(a.id)) ||
    Number(b.enabled) - Number(a.enabled) ||
    b.priority - a.priority ||
    a.id - b.id
  );
}

/** As many rules again as are held: few reloads at first, and the first rules run soon; later as many as one turn allows. */
export function portionSize(held: number): number {
  return Math.min(portionMaximum, Math.max(portionMinimum, held));
}

/** Stored rules that the engine does not hold, in loading order, and rules it holds that are no longer stored. */
export function missingRules(heads: readonly RuleHead[], held: ReadonlyMap<number, number>) {
  const stored = new Set(heads.map(({ id }) => id));
  const missing = heads.filter(({ id, revision }) => held.get(id) !== revision);
  return {
    ids: missing.toSorted((a, b) => inLoadingOrder(held, a, b)).map(({ id }) => id),
    removed: [...held.keys()].filter((id) => !stored.has(id)),
  };
}

/** Number of rules to send next, after `size` rules took `bytes`. */
export function nextStageSize(size: number, bytes: number): number {
  return Math.max(1, Math.min(stageMaximum, 2 * size, Math.floor((size * stageBytes) / Math.max(1, bytes))));
}
