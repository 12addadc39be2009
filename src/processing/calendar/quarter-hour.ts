/** 0 at local midnight to 95 [data-processing §4.9]. */
import { hourOfDay } from '../../rules/local-time.ts';
import { fromLocalTime } from './transform.ts';

export const quarterHourOfDay = fromLocalTime('calendar.quarter_hour', (local) => Math.floor(hourOfDay(local) * 4));
