/** Charges a battery with PV surplus, and discharges it into the load. */
import { expectedWrites, givenOf, templateFlow } from './flow-of-template.ts';
import type { RuleTemplate } from './template.ts';

export const batterySelfConsumption: RuleTemplate = {
  name: 'battery-self-consumption',
  title: 'Battery: self-consumption',
  about: 'Charges the battery with what PV generates beyond the load, and covers the load from it otherwise.',
  version: 1,
  points: [
    { name: 'load', about: 'power that the site consumes', point_type: 'measurement', unit: 'kW' },
    { name: 'pv', about: 'power that PV generates', point_type: 'measurement', unit: 'kW' },
    { name: 'soc', about: 'state of charge', point_type: 'measurement', unit: '%' },
    { name: 'setpoint', about: 'battery power, positive discharges', point_type: 'action', unit: 'kW' },
  ],
  numbers: [
    {
      name: 'power_max',
      about: 'most that the battery delivers or takes',
      unit: 'kW',
      min: 0,
      max: null,
      default: 100,
    },
    { name: 'soc_min', about: 'charge below which it does not discharge', unit: '%', min: 0, max: 100, default: 10 },
    { name: 'soc_max', about: 'charge above which it does not charge', unit: '%', min: 0, max: 100, default: 95 },
  ],
  ascending: [['soc_min', 'soc_max']],
  content: (given) => ({
    description: 'Charges the battery with PV surplus and covers the load from it otherwise.',
    priority: 10,
    cooldown_ms: 0,
    trigger_config: { type: 'interval', interval_ms: 1000 },
    flow_json: templateFlow(given, {
      reads: ['load', 'pv', 'soc'],
      settings: ['power_max', 'soc_min', 'soc_max'],
      computed: [{ name: 'need', expression: 'load - pv' }],
      branches: [
        {
          name: 'charge',
          label: 'Store the surplus',
          when: 'need < 0 && soc < soc_max',
          writes: [{ to: 'setpoint', value: 'clamp(need, -power_max, 0)' }],
        },
        {
          name: 'discharge',
          label: 'Cover the load',
          when: 'need > 0 && soc > soc_min',
          writes: [{ to: 'setpoint', value: 'clamp(need, 0, power_max)' }],
        },
      ],
      otherwise: { label: 'Rest', writes: [{ to: 'setpoint', value: 0 }] },
    }),
    tests: [
      {
        name: 'surplus charges',
        given: givenOf(given, { load: 0, pv: 1, soc: 0 }),
        then: { output: { node_id: 'decide', name: 'charge' } },
      },
      {
        name: 'a full battery takes nothing',
        given: givenOf(given, { load: 0, pv: 1, soc: 100 }),
        then: { output: { node_id: 'decide', name: 'else' }, writes: expectedWrites(given, { setpoint: 0 }) },
      },
      {
        name: 'the load is covered',
        given: givenOf(given, { load: 1, pv: 0, soc: 100 }),
        then: { output: { node_id: 'decide', name: 'discharge' } },
      },
      {
        name: 'without the charge it writes nothing',
        given: givenOf(given, { load: 1, pv: 0, soc: null }),
        then: { outcome: 'skipped', writes: [] },
      },
    ],
  }),
};
