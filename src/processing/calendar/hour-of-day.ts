/** 0 to 23 [data-processing §4.9]. */
import { hourOfDay } from '../../rules/local-time.ts';
import { fromLocalTime } from './transform.ts';

export const hour = fromLocalTime('calendar.hour_of_day', (local) => Math.floor(hourOfDay(local)));
