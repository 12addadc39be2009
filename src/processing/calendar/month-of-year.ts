/** 1 to 12 (decisions §4 "Calendar"). */
import { monthOf } from '../../rules/local-time.ts';
import { fromLocalTime } from './transform.ts';

export const month = fromLocalTime('calendar.month_of_year', monthOf);
