/** What a substitution method is [data-processing §4.4]: from cells that were observed, a value for one that was not. */

/** A run of consecutive missing cells, both ends included. */
export interface MissingRun {
  readonly first: number;
  readonly last: number;
}

export interface Observed {
  /** The observed value of a cell of this segment; NaN when missing, never a filled one. */
  value(index: number): number;
  /** The observed value `steps` before a cell, in this segment or, for a future cell, in the frame's history. */
  before(index: number, steps: number): number;
  readonly cadenceSeconds: number;
}

/** NaN when the method has nothing to offer: the cell then stays missing. */
export type SubstitutionValue = (index: number, run: MissingRun, observed: Observed) => number;
