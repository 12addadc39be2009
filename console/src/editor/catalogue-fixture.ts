/** A small site for the tests of the editor: a battery with a charge and a setpoint, and one parameter. */
import { type ConsoleCatalogue, consoleCatalogue } from './site-catalogue.ts';

export function catalogueSite(): ConsoleCatalogue {
  const bounds = { min: null, max: null, step: null };
  return consoleCatalogue({
    site: { id: 'plant-1', name: 'Plant 1' },
    timezone: 'Europe/Amsterdam',
    instances: [
      {
        id: 4,
        name: 'battery',
        points: [
          { id: 1, name: 'soc', kind: 'measurement', unit: '%', ...bounds, min: 0, max: 100, writable: false },
          { id: 1, name: 'power_setpoint', kind: 'action', unit: 'kW', min: -250, max: 250, step: 0.1, writable: true },
        ],
      },
    ],
    parameters: [{ name: 'soc_lower', value: 40, unit: '%', min: null, max: null, file_value: 40, changed: false }],
  });
}
