/** Keeps the power fed into the grid below a limit. */
import { givenOf, templateFlow } from './flow-of-template.ts';
import type { RuleTemplate } from './template.ts';

export const pvExportLimit: RuleTemplate = {
  name: 'pv-export-limit',
  title: 'PV: export limit',
  about: 'Limits PV to the load and what may be fed into the grid.',
  version: 1,
  points: [
    { name: 'load', about: 'power that the site consumes', point_type: 'measurement', unit: 'kW' },
    { name: 'pv_limit', about: 'most that PV may generate', point_type: 'action', unit: 'kW' },
  ],
  numbers: [
    { name: 'export_max', about: 'most that may be fed into the grid', unit: 'kW', min: 0, max: null, default: 50 },
    { name: 'pv_rated', about: 'rated power of PV', unit: 'kW', min: 0, max: null, default: 280 },
  ],
  ascending: [],
  content: (given) => ({
    description: 'Keeps the power fed into the grid below a limit.',
    priority: 30,
    cooldown_ms: 0,
    trigger_config: { type: 'interval', interval_ms: 1000 },
    flow_json: templateFlow(given, {
      reads: ['load'],
      settings: ['export_max', 'pv_rated'],
      computed: [{ name: 'most', expression: 'load + export_max' }],
      branches: [
        {
          name: 'limit',
          label: 'Limit PV',
          when: 'most < pv_rated',
          writes: [{ to: 'pv_limit', value: 'max(most, 0)' }],
        },
      ],
      otherwise: { label: 'All of it', writes: [{ to: 'pv_limit', value: 'pv_rated' }] },
    }),
    tests: [
      {
        name: 'with a load beyond its rating PV is not limited',
        given: givenOf(given, { load: given.number('pv_rated') }),
        then: { output: { node_id: 'decide', name: 'else' } },
      },
      {
        name: 'without the load it writes nothing',
        given: givenOf(given, { load: null }),
        then: { outcome: 'skipped', writes: [] },
      },
    ],
  }),
};
