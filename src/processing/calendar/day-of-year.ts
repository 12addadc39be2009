/** The place in the year as a point on a circle: sine and cosine of 2π(day−1)/365.25 [data-processing §4.9]. */

import { dayMs } from '../../base/timestamp.ts';
import { fromLocalTime } from './transform.ts';

function angle(local: number): number {
  const newYear = Date.UTC(new Date(local).getUTCFullYear(), 0, 1);
  const daysSince = Math.floor((local - newYear) / dayMs);
  return (2 * Math.PI * daysSince) / 365.25;
}

export const dayOfYearSin = fromLocalTime('calendar.day_of_year_sin', (local) => Math.sin(angle(local)));
export const dayOfYearCos = fromLocalTime('calendar.day_of_year_cos', (local) => Math.cos(angle(local)));
