/** Height of the sun above the horizon in degrees, refraction included, below 0 at night [data-processing §4.9]. */
import { getPosition } from 'suncalc';
import type { CalendarTransform } from './transform.ts';

export const solarElevation: CalendarTransform = {
  unit: 'deg',
  sourceRef: 'calendar.solar_elevation',
  needsPlace: true,
  at(labelMs, { latitude, longitude }) {
    if (latitude === null || longitude === null) throw new Error('solar_elevation was commissioned without a place');
    return getPosition(new Date(labelMs), latitude, longitude).altitude;
  },
};
