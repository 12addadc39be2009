/** Releases a heater while PV has a surplus. */
import { expectedWrites, givenOf, templateFlow } from './flow-of-template.ts';
import type { RuleTemplate } from './template.ts';

export const heatSurplus: RuleTemplate = {
  name: 'heat-surplus',
  title: 'Heat: release by PV surplus',
  about: 'Releases a heat pump or heater while PV has generated enough beyond the load for some time.',
  version: 1,
  points: [
    { name: 'load', about: 'power that the site consumes', point_type: 'measurement', unit: 'kW' },
    { name: 'pv', about: 'power that PV generates', point_type: 'measurement', unit: 'kW' },
    { name: 'release', about: '1 releases the heater, 0 blocks it', point_type: 'action', unit: '1' },
  ],
  numbers: [
    { name: 'on_above', about: 'surplus above which it is released', unit: 'kW', min: 0, max: null, default: 20 },
    { name: 'off_below', about: 'surplus below which it is blocked', unit: 'kW', min: null, max: null, default: 5 },
    { name: 'seconds', about: 'how long the surplus must last', unit: 's', min: 0, max: 3600, default: 300 },
  ],
  ascending: [['off_below', 'on_above']],
  content: (given) => ({
    description: 'Releases a heater while PV has a surplus.',
    priority: 10,
    cooldown_ms: 0,
    trigger_config: { type: 'interval', interval_ms: 1000 },
    flow_json: templateFlow(given, {
      reads: ['load', 'pv'],
      settings: ['on_above', 'off_below', 'seconds'],
      computed: [
        { name: 'surplus', expression: 'pv - load' },
        { name: 'wanted', expression: 'hysteresis(surplus, on_above, off_below)' },
      ],
      branches: [
        {
          name: 'release',
          label: 'Release',
          when: `held(wanted == 1, ${given.number('seconds')})`,
          writes: [{ to: 'release', value: 1 }],
        },
      ],
      otherwise: { label: 'Block', writes: [{ to: 'release', value: 0 }] },
    }),
    tests: [
      {
        name: 'without surplus it is blocked',
        given: givenOf(given, { load: 1000, pv: 0 }),
        then: { output: { node_id: 'decide', name: 'else' }, writes: expectedWrites(given, { release: 0 }) },
      },
      {
        name: 'without PV it writes nothing',
        given: givenOf(given, { load: 1, pv: null }),
        then: { outcome: 'skipped', writes: [] },
      },
    ],
  }),
};
