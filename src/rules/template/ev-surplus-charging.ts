/** Charges electric vehicles with PV surplus. */
import { expectedWrites, givenOf, templateFlow } from './flow-of-template.ts';
import type { RuleTemplate } from './template.ts';

export const evSurplusCharging: RuleTemplate = {
  name: 'ev-surplus-charging',
  title: 'EV charging: PV surplus',
  about: 'Charges EVs with surplus PV power, at least with a minimum power once the surplus reaches it.',
  version: 1,
  points: [
    {
      name: 'load',
      about: 'power that the site consumes, without the chargers',
      point_type: 'measurement',
      unit: 'kW',
    },
    { name: 'pv', about: 'power that PV generates', point_type: 'measurement', unit: 'kW' },
    { name: 'charging', about: 'power that the chargers may take', point_type: 'action', unit: 'kW' },
  ],
  numbers: [
    { name: 'power_min', about: 'least that the chargers can take', unit: 'kW', min: 0, max: null, default: 4 },
    { name: 'power_max', about: 'most that the chargers can take', unit: 'kW', min: 0, max: null, default: 22 },
  ],
  ascending: [['power_min', 'power_max']],
  content: (given) => ({
    description: 'Lets chargers take the PV surplus.',
    priority: 10,
    cooldown_ms: 0,
    trigger_config: { type: 'interval', interval_ms: 1000 },
    flow_json: templateFlow(given, {
      reads: ['load', 'pv'],
      settings: ['power_min', 'power_max'],
      computed: [{ name: 'surplus', expression: 'pv - load' }],
      branches: [
        {
          name: 'charge',
          label: 'Charge',
          when: 'surplus >= power_min',
          writes: [{ to: 'charging', value: 'min(surplus, power_max)' }],
        },
      ],
      otherwise: { label: 'Wait', writes: [{ to: 'charging', value: 0 }] },
    }),
    tests: [
      {
        name: 'the minimum is reached',
        given: givenOf(given, { load: 0, pv: given.number('power_min') }),
        then: {
          output: { node_id: 'decide', name: 'charge' },
          writes: expectedWrites(given, { charging: Math.min(given.number('power_min'), given.number('power_max')) }),
        },
      },
      {
        name: 'below the minimum they wait',
        given: givenOf(given, { load: 1, pv: 0 }),
        then: { output: { node_id: 'decide', name: 'else' }, writes: expectedWrites(given, { charging: 0 }) },
      },
      {
        name: 'without PV it writes nothing',
        given: givenOf(given, { load: 1, pv: null }),
        then: { outcome: 'skipped', writes: [] },
      },
    ],
  }),
};
