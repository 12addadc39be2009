/**
 * Fills missing cells by the task's declared method [data-processing §4.4]: a run of missing cells longer than
 * `max_cells` is not filled, a filled cell is labelled, and only observed cells are read.
 */

import type { MissingRun, Observed } from '../../contract/missing.ts';
import { substitutions } from '../../contract/missing.ts';
import { inRange, type Substitution, type ValueRange } from '../../contract/task/declaration.ts';
import { type Cells, copyOf, isMissing, mark, setCell, valueAt } from './cells.ts';

export interface SubstituteContext {
  readonly substitution: Substitution;
  readonly cadenceSeconds: number;
  readonly range: ValueRange;
  /** History cells of the same feature, for a future segment; they end right before its first cell. */
  readonly earlier: Cells | null;
}

export function substitute(cells: Cells, { substitution, cadenceSeconds, range, earlier }: SubstituteContext): Cells {
  const filled = copyOf(cells);
  const valueFor = substitutions[substitution.method];
  const observed: Observed = {
    cadenceSeconds,
    value: (index) => observedValue(cells, index),
    before(index, steps) {
      const at = index - steps;
      if (at >= 0) return observedValue(cells, at);
      return earlier === null ? Number.NaN : observedValue(earlier, earlier.values.length + at);
    },
  };
  for (const run of missingRuns(cells)) {
    if (substitution.max_cells !== null && run.last - run.first + 1 > substitution.max_cells) continue;
    for (let index = run.first; index <= run.last; index++) {
      const value = valueFor(index, run, observed);
      // A method may produce a value outside the declared range (a line between integers): it is discarded.
      if (Number.isFinite(value) && inRange(value, range)) setCell(filled, index, value, mark.substituted);
    }
  }
  return filled;
}

function observedValue(cells: Cells, index: number): number {
  return cells.marks[index] === mark.substituted ? Number.NaN : valueAt(cells, index);
}

function missingRuns(cells: Cells): MissingRun[] {
  const runs: MissingRun[] = [];
  let first: number | null = null;
  for (let index = 0; index <= cells.values.length; index++) {
    const missing = index < cells.values.length && isMissing(cells, index);
    if (missing) first ??= index;
    else if (first !== null) {
      runs.push({ first, last: index - 1 });
      first = null;
    }
  }
  return runs;
}
