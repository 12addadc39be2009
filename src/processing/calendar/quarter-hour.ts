/** 0 at local midnight to 95 (decisions §4 "Calendar"). */
import { hourOfDay } from '../../rules/local-time.ts';
import { fromLocalTime } from './transform.ts';

export const quarterHourOfDay = fromLocalTime('calendar.quarter_hour', (local) => Math.floor(hourOfDay(local) * 4));
