/** The last observed value before the gap, repeated. A gap at the beginning has none. */
import type { SubstitutionValue } from './method.ts';

export const holdLast: SubstitutionValue = (_index, run, observed) => observed.value(run.first - 1);
