/** The straight line between the observed neighbours of the gap. A gap at either end has only one. */
import type { SubstitutionValue } from './method.ts';

export const linear: SubstitutionValue = (index, run, observed) => {
  const before = observed.value(run.first - 1);
  const after = observed.value(run.last + 1);
  // Divided last: 0.6 between 0 and 3, not 0.6000000000000001.
  return before + ((after - before) * (index - run.first + 1)) / (run.last - run.first + 2);
};
