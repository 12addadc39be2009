/** Charges a battery from the grid in the hours of a cheap tariff. */
import { expectedWrites, givenOf, templateFlow } from './flow-of-template.ts';
import type { RuleTemplate } from './template.ts';

const hour = { unit: 'h', min: 0, max: 24 } as const;
/** 1 between the hours, also across midnight. */
const inHours = 'if(from_hour > to_hour, hour >= from_hour || hour < to_hour, hour >= from_hour && hour < to_hour)';
const at = (utcHour: number): string => `2000-01-01T${String(utcHour).padStart(2, '0')}:30:00.000Z`;

export const batteryNightCharge: RuleTemplate = {
  name: 'battery-night-charge',
  title: 'Battery: charge by the clock',
  about:
    'Charges the battery with constant power between two hours of local time, also across midnight, up to a charge.',
  version: 2,
  points: [
    { name: 'soc', about: 'state of charge', point_type: 'measurement', unit: '%' },
    { name: 'setpoint', about: 'battery power, positive discharges', point_type: 'action', unit: 'kW' },
  ],
  numbers: [
    { name: 'from_hour', about: 'local hour from which it charges', ...hour, default: 1 },
    {
      name: 'to_hour',
      about: 'local hour until which it charges; of the next day if it is earlier',
      ...hour,
      default: 5,
    },
    { name: 'power', about: 'charging power', unit: 'kW', min: 0, max: null, default: 50 },
    { name: 'soc_target', about: 'charge at which it stops', unit: '%', min: 0, max: 100, default: 80 },
  ],
  ascending: [],
  content: (given) => ({
    description: 'Charges the battery between two hours of local time, up to a charge.',
    priority: 5,
    cooldown_ms: 0,
    trigger_config: { type: 'interval', interval_ms: 1000 },
    flow_json: templateFlow(given, {
      reads: ['soc'],
      settings: ['from_hour', 'to_hour', 'power', 'soc_target'],
      computed: [
        { name: 'hour', expression: 'time_of_day()' },
        { name: 'in_hours', expression: inHours },
      ],
      branches: [
        {
          name: 'charge',
          label: 'Charge',
          when: 'in_hours == 1 && soc < soc_target',
          writes: [{ to: 'setpoint', value: '-power' }],
        },
      ],
      otherwise: { label: 'Rest', writes: [{ to: 'setpoint', value: 0 }] },
    }),
    tests: [
      {
        name: 'a charged battery stays idle at every hour',
        at: at(2),
        given: givenOf(given, { soc: 100 }),
        then: { output: { node_id: 'decide', name: 'else' }, writes: expectedWrites(given, { setpoint: 0 }) },
      },
      {
        name: 'without the charge it writes nothing',
        at: at(2),
        given: givenOf(given, { soc: null }),
        then: { outcome: 'skipped', writes: [] },
      },
    ],
  }),
};
