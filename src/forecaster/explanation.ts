/** The basis of a forecast, in words and shares that can be checked: part of every answer. */

export interface Share {
  readonly name: string;
  /** From 0 to 1; those of a list sum to 1. */
  readonly share: number;
}

export interface Explanation {
  /** The combined models, largest weight first. */
  readonly models: readonly Share[];
  /** Their inputs, by the error that each removes; empty for a series without covariates. */
  readonly inputs: readonly Share[];
  /** The level that changed; usually null. */
  readonly shift: ShiftSeen | null;
  /** Covariates that are unknown over a part of the horizon. */
  readonly lost: readonly { readonly name: string; readonly steps: number; readonly how: 'missing' | 'stuck' }[];
  /** Covariates whose history ended more than a day before the target's. */
  readonly stale: readonly string[];
  /** Newest cells of the target that were excluded as doubtful. */
  readonly doubted: number;
}

export interface ShiftSeen {
  /** Hours before the end of the history. */
  readonly hours: number;
  readonly kind: 'scaled' | 'moved';
  /** The factor, or the addend in units of the target. */
  readonly amount: number;
  /** Probability given to the new level. */
  readonly share: number;
}

/** The weights, summed by name, as shares, the largest first. */
export function sharesOf(names: readonly string[], weights: Float64Array): readonly Share[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const sums = new Map<string, number>();
  for (const [index, name] of names.entries())
    sums.set(name, (sums.get(name) ?? 0) + (total > 0 ? (weights[index] ?? 0) / total : 1 / names.length));
  return [...sums].map(([name, share]) => ({ name, share })).sort((a, b) => b.share - a.share);
}
