/** 1 (Monday) to 7 (Sunday), and whether that is a weekend [data-processing §4.9]. */
import { weekdayOf } from '../../rules/local-time.ts';
import { fromLocalTime } from './transform.ts';

export const dayOfWeek = fromLocalTime('calendar.day_of_week', weekdayOf);
export const isWeekend = fromLocalTime('calendar.is_weekend', (local) => (weekdayOf(local) >= 6 ? 1 : 0));
