/**
 * The substitution methods by the name that `missing_policy.method` uses [data-processing §4.4]: each computes a value for a
 * missing cell from observed cells. A new method is an entry of `substitutions`.
 */

/** A run of consecutive missing cells, both ends included. */
export interface MissingRun {
  readonly first: number;
  readonly last: number;
}

export interface Observed {
  /** The observed value of a cell of this segment; NaN when missing or filled. */
  value(index: number): number;
  /** The observed value `steps` before a cell, in this segment or, for a future cell, in the frame's history. */
  before(index: number, steps: number): number;
  readonly cadenceSeconds: number;
}

/** NaN when the method cannot give a value: the cell stays missing. */
export type SubstitutionValue = (index: number, run: MissingRun, observed: Observed) => number;

export const substitutions = {
  /** The last observed value before the gap, repeated. A gap at the beginning stays missing. */
  hold_last: (_index, run, observed) => observed.value(run.first - 1),
  /** The straight line between the observed neighbours of the gap. A gap at either end stays missing. */
  linear(index, run, observed) {
    const before = observed.value(run.first - 1);
    const after = observed.value(run.last + 1);
    // The division comes last: 0.6 between 0 and 3, not 0.6000000000000001.
    return before + ((after - before) * (index - run.first + 1)) / (run.last - run.first + 2);
  },
  seasonal_day: seasonal(1),
  seasonal_week: seasonal(7),
} as const satisfies Record<string, SubstitutionValue>;

export type SubstitutionMethod = keyof typeof substitutions;
export const substitutionMethods = Object.keys(substitutions) as SubstitutionMethod[];

/** The observed value of the same label a whole number of days before, within the frame only. */
function seasonal(days: number): SubstitutionValue {
  return (index, _run, observed) => observed.before(index, (days * daySeconds) / observed.cadenceSeconds);
}

/** UTC days. */
const daySeconds = 86_400;
