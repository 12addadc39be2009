/** A tank with a pump, and rules that watch its level: what tests of the engine run. */

import type { EngineRule } from '../automation/engine-contract.ts';
import type { EngineSetup } from '../automation/engine-core.ts';
import { automationLimits } from '../automation/limits.ts';
import type { RuleAct } from '../automation/store/revision-store.ts';
import { readSite } from '../site/site.ts';
import { retentionCell } from '../storage/retention-clock.ts';

/** Positions: level 0, pump 1, trend 2, valve 3. */
export const tankSite = readSite(
  `
schema: svc.site.v1
site: { id: plant, name: Plant, timezone: UTC }
parameters: { limit: { value: 10 } }
channels: [{ id: derived, driver: virtual }]
instances:
  - id: 1
    name: tank
    points:
      - { id: 1, name: level, kind: measurement, unit: m, channel: derived }
      - { id: 1, name: pump, kind: action, unit: kW, channel: derived }
      - { id: 2, name: trend, kind: measurement, unit: m, channel: derived }
      - { id: 2, name: valve, kind: action, unit: kW, channel: derived }
`,
  'site.yaml',
);

/** Reads measurement `input` as `x`, writes `value` to action `target` when `when` holds. */
export function switchFlow(when: string, value: number | string, target = 1, input = 1): string {
  const parameters = when.includes('limit') ? [{ name: 'limit', parameter: 'limit' }] : [];
  return JSON.stringify({
    start_node: 's',
    nodes: {
      s: { type: 'start', wires: { default: ['i'] } },
      i: {
        type: 'input',
        variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: input }],
        parameters,
        wires: { default: ['d'] },
      },
      d: { type: 'switch', branches: [{ name: 'yes', when }], wires: { yes: ['a'], else: ['e'] } },
      a: {
        type: 'change',
        writes: [{ instance: 1, point_type: 'action', point: target, value }],
        wires: { default: ['e'] },
      },
      e: { type: 'end', wires: {} },
    },
  });
}

/** Runs the pump while the level is above the limit. */
export function engineRule(id: number, more: Partial<EngineRule> = {}): EngineRule {
  return {
    id,
    revision: 1,
    enabled: true,
    mode: 'live',
    priority: 0,
    cooldown_ms: 0,
    trigger_config: null,
    nodes_json: switchFlow('x > limit', 1),
    ...more,
  };
}

/** An engine of the tank with the limits of every site. */
export function tankSetup(
  parts: Pick<EngineSetup, 'memory' | 'database' | 'dataFolder'> & Partial<EngineSetup>,
): EngineSetup {
  return { site: tankSite, limits: automationLimits, retention: retentionCell(0), ...parts };
}

/** A change that somebody made in a test. */
export const testAct: RuleAct = {
  action: 'automation.rule.update',
  author: { kind: 'user', id: 'tester' },
  correlationId: '0198c0de-0000-7000-8000-000000000001',
};
