/** Blocks a heater while the site imports too much. */
import { expectedWrites, givenOf, templateFlow } from './flow-of-template.ts';
import type { RuleTemplate } from './template.ts';

export const heatLoadShedding: RuleTemplate = {
  name: 'heat-load-shedding',
  title: 'Heat: load shedding',
  about: 'Blocks a heater while the import is above a limit, and releases it when it has fallen by a band.',
  version: 1,
  points: [
    { name: 'import', about: 'power from the grid, positive imports', point_type: 'measurement', unit: 'kW' },
    { name: 'release', about: '1 releases the heater, 0 blocks it', point_type: 'action', unit: '1' },
  ],
  numbers: [
    { name: 'limit', about: 'import above which it is blocked', unit: 'kW', min: 0, max: null, default: 200 },
    { name: 'band', about: 'how far below the limit it is released', unit: 'kW', min: 0, max: null, default: 30 },
  ],
  ascending: [],
  content: (given) => ({
    description: 'Blocks a heater while the site imports too much.',
    priority: 40,
    cooldown_ms: 0,
    trigger_config: { type: 'interval', interval_ms: 1000 },
    flow_json: templateFlow(given, {
      reads: ['import'],
      settings: ['limit', 'band'],
      computed: [{ name: 'over', expression: 'hysteresis(import, limit, limit - band)' }],
      branches: [{ name: 'block', label: 'Block', when: 'over == 1', writes: [{ to: 'release', value: 0 }] }],
      otherwise: { label: 'Release', writes: [{ to: 'release', value: 1 }] },
    }),
    tests: [
      {
        name: 'above the limit it is blocked',
        given: givenOf(given, { import: given.number('limit') + 1 }),
        then: { output: { node_id: 'decide', name: 'block' }, writes: expectedWrites(given, { release: 0 }) },
      },
      {
        name: 'without import it is released',
        given: givenOf(given, { import: -1 }),
        then: { output: { node_id: 'decide', name: 'else' }, writes: expectedWrites(given, { release: 1 }) },
      },
      {
        name: 'without a reading it writes nothing',
        given: givenOf(given, { import: null }),
        then: { outcome: 'skipped', writes: [] },
      },
    ],
  }),
};
