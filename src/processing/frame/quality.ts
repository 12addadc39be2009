/** The figures of a frame's quality [data-processing §3.4]: pure arithmetic on cells. */
import { type Cells, countMarks, isMissing, mark } from './cells.ts';

/** A stretch of cells by index, both ends included. */
export interface ObservedSpan {
  readonly first: number;
  readonly last: number;
}

/** The longest distance between neighbouring observations of one feature. */
export interface Gap {
  readonly seconds: number;
  /** The cells without an observation in that gap; null if the distance is one cadence, which is not a gap. */
  readonly missing: ObservedSpan | null;
}

/**
 * Of cells before substitution: the longest distance between consecutive observed labels, from `as_of − N·c` to the
 * first and from the last to `as_of`; at least one cadence, and N·c when nothing was observed.
 */
export function largestGap(cells: Cells, cadenceSeconds: number): Gap {
  const last = cells.values.length - 1;
  let steps = 1;
  let missing: ObservedSpan | null = null;
  // Index -1 is as_of − N·c, where the window begins.
  let before = -1;
  for (let index = 0; index <= last; index++) {
    const observed = !isMissing(cells, index);
    // The window ends at as_of, whether or not there is an observation.
    if (!observed && index < last) continue;
    if (index - before > steps) {
      steps = index - before;
      missing = { first: before + 1, last: observed ? index - 1 : index };
    }
    before = index;
  }
  return { seconds: steps * cadenceSeconds, missing };
}

export function maxGapSeconds(features: readonly Cells[], cadenceSeconds: number): number {
  return Math.max(...features.map((cells) => largestGap(cells, cadenceSeconds).seconds));
}

/** Missing cells over all required cells, of all features of both segments. */
export function missingRatio(features: readonly Cells[]): number {
  const required = features.reduce((sum, cells) => sum + cells.values.length, 0);
  return features.reduce((sum, cells) => sum + countMarks(cells, mark.missing), 0) / required;
}

export function substitutedSamples(features: readonly Cells[]): number {
  return features.reduce((sum, cells) => sum + countMarks(cells, mark.substituted), 0);
}

/** From the first missing cell to the last; null if none is missing. */
export function missingSpan(cells: Cells): ObservedSpan | null {
  const first = cells.marks.indexOf(mark.missing);
  return first < 0 ? null : { first, last: cells.marks.lastIndexOf(mark.missing) };
}
