/** Discharges a battery by what the site needs above a limit. */
import { expectedWrites, givenOf, templateFlow } from './flow-of-template.ts';
import type { RuleTemplate } from './template.ts';

export const batteryPeakShaving: RuleTemplate = {
  name: 'battery-peak-shaving',
  title: 'Battery: peak shaving',
  about: 'Discharges the battery by what load less PV needs above the limit, while it has charge.',
  version: 1,
  points: [
    { name: 'load', about: 'power that the site consumes', point_type: 'measurement', unit: 'kW' },
    { name: 'pv', about: 'power that PV generates', point_type: 'measurement', unit: 'kW' },
    { name: 'soc', about: 'state of charge', point_type: 'measurement', unit: '%' },
    { name: 'setpoint', about: 'battery power, positive discharges', point_type: 'action', unit: 'kW' },
  ],
  numbers: [
    { name: 'limit', about: 'import that is not exceeded', unit: 'kW', min: 0, max: null, default: 200 },
    { name: 'band', about: 'how far below the limit it stops', unit: 'kW', min: 0, max: null, default: 10 },
    { name: 'power_max', about: 'most that the battery delivers', unit: 'kW', min: 0, max: null, default: 100 },
    { name: 'soc_min', about: 'state of charge below which it stays idle', unit: '%', min: 0, max: 100, default: 20 },
  ],
  ascending: [],
  content: (given) => ({
    description: 'Discharges the battery to cover the power of the site above the limit, while it has charge.',
    priority: 20,
    cooldown_ms: 0,
    trigger_config: { type: 'interval', interval_ms: 1000 },
    flow_json: templateFlow(given, {
      reads: ['load', 'pv', 'soc'],
      settings: ['limit', 'band', 'power_max', 'soc_min'],
      computed: [
        { name: 'need', expression: 'load - pv' },
        { name: 'over', expression: 'hysteresis(need, limit, limit - band)' },
      ],
      branches: [
        {
          name: 'shave',
          label: 'Deliver the excess',
          when: 'over == 1 && soc > soc_min',
          writes: [{ to: 'setpoint', value: 'clamp(need - limit, 0, power_max)' }],
        },
      ],
      otherwise: { label: 'Rest', writes: [{ to: 'setpoint', value: 0 }] },
    }),
    tests: [
      {
        name: 'above the limit it delivers the excess',
        given: givenOf(given, { load: given.number('limit') + 5, pv: 0, soc: 100 }),
        then: {
          output: { node_id: 'decide', name: 'shave' },
          writes: expectedWrites(given, { setpoint: Math.min(5, given.number('power_max')) }),
        },
      },
      {
        name: 'an empty battery stays idle',
        given: givenOf(given, { load: given.number('limit') + 5, pv: 0, soc: 0 }),
        then: { output: { node_id: 'decide', name: 'else' }, writes: expectedWrites(given, { setpoint: 0 }) },
      },
      {
        name: 'without a reading it writes nothing',
        given: givenOf(given, { load: null, pv: 0, soc: 50 }),
        then: { outcome: 'skipped', writes: [] },
      },
    ],
  }),
};
