/** 0 to 23 (decisions §4 "Calendar"). */
import { hourOfDay } from '../../rules/local-time.ts';
import { fromLocalTime } from './transform.ts';

export const hour = fromLocalTime('calendar.hour_of_day', (local) => Math.floor(hourOfDay(local)));
