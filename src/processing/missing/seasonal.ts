/** The observed value of the same label one season of 24 hours, or of seven times that, before; inside the frame only. */
import type { SubstitutionValue } from './method.ts';

const daySeconds = 86_400;

const seasonal =
  (seasonSeconds: number): SubstitutionValue =>
  (index, _run, observed) =>
    observed.before(index, seasonSeconds / observed.cadenceSeconds);

export const seasonalDay = seasonal(daySeconds);
export const seasonalWeek = seasonal(7 * daySeconds);
