/** Keeps electric vehicles from overloading the connection of the site. */
import { expectedWrites, givenOf, templateFlow } from './flow-of-template.ts';
import type { RuleTemplate } from './template.ts';

export const evLoadManagement: RuleTemplate = {
  name: 'ev-load-management',
  title: 'EV charging: load management',
  about: 'Limits EV charging to the capacity of the grid connection that the rest of the load leaves.',
  version: 1,
  points: [
    {
      name: 'load',
      about: 'power that the site consumes, without the chargers',
      point_type: 'measurement',
      unit: 'kW',
    },
    { name: 'charging', about: 'power that the chargers may take', point_type: 'action', unit: 'kW' },
  ],
  numbers: [
    { name: 'connection', about: 'most that the connection carries', unit: 'kW', min: 0, max: null, default: 250 },
    { name: 'reserve', about: 'how much of it stays free', unit: 'kW', min: 0, max: null, default: 10 },
    { name: 'power_max', about: 'most that the chargers can take', unit: 'kW', min: 0, max: null, default: 100 },
  ],
  ascending: [],
  content: (given) => ({
    description: 'Limits EV charging to the remaining capacity of the grid connection.',
    priority: 40,
    cooldown_ms: 0,
    trigger_config: { type: 'interval', interval_ms: 1000 },
    flow_json: templateFlow(given, {
      reads: ['load'],
      settings: ['connection', 'reserve', 'power_max'],
      computed: [{ name: 'free', expression: 'connection - reserve - load' }],
      branches: [
        {
          name: 'charge',
          label: 'Charge with the remaining capacity',
          when: 'free > 0',
          writes: [{ to: 'charging', value: 'min(free, power_max)' }],
        },
      ],
      otherwise: { label: 'Stop', writes: [{ to: 'charging', value: 0 }] },
    }),
    tests: [
      {
        name: 'a full connection stops them',
        given: givenOf(given, { load: given.number('connection') }),
        then: { output: { node_id: 'decide', name: 'else' }, writes: expectedWrites(given, { charging: 0 }) },
      },
      {
        name: 'with little left they get that',
        given: givenOf(given, { load: given.number('connection') - given.number('reserve') - 1 }),
        then: {
          output: { node_id: 'decide', name: 'charge' },
          writes: expectedWrites(given, { charging: Math.min(1, given.number('power_max')) }),
        },
      },
      {
        name: 'without the load it writes nothing',
        given: givenOf(given, { load: null }),
        then: { outcome: 'skipped', writes: [] },
      },
    ],
  }),
};
