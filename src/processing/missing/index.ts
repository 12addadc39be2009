/** The registry of substitution methods, by the name that `missing_policy.method` uses [data-processing §4.4]. */
import type { SubstitutionMethod } from '../task/declaration.ts';
import { holdLast } from './hold-last.ts';
import { linear } from './linear.ts';
import type { SubstitutionValue } from './method.ts';
import { seasonalDay, seasonalWeek } from './seasonal.ts';

export const substitutions: Readonly<Record<SubstitutionMethod, SubstitutionValue>> = {
  hold_last: holdLast,
  linear,
  seasonal_day: seasonalDay,
  seasonal_week: seasonalWeek,
};
