/** 1 to 12 [data-processing §4.9]. */
import { monthOf } from '../../rules/local-time.ts';
import { fromLocalTime } from './transform.ts';

export const month = fromLocalTime('calendar.month_of_year', monthOf);
