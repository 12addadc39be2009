/** 1 on the local dates that site.yaml lists as holidays, else 0 [data-processing §4.9]. */
import { localMs } from '../../rules/local-time.ts';
import type { CalendarTransform } from './transform.ts';

export const isHoliday: CalendarTransform = {
  unit: '1',
  sourceRef: 'calendar.is_holiday',
  needsPlace: false,
  at(labelMs, place) {
    if (place.holidays.size === 0) return 0;
    const date = new Date(localMs(labelMs, place.timezone)).toISOString().slice(0, 10);
    return place.holidays.has(date) ? 1 : 0;
  },
};
