import { describe, expect, test } from 'vitest';
import { ruleText, ruleView } from './rule-view.ts';
import type { RuleRow } from './store/rule-table.ts';

const row: RuleRow = {
  id: 7,
  revision: 3,
  enabled: true,
  mode: 'live',
  priority: 1,
  cooldown_ms: 0,
  key: null,
  applied_revision: null,
  name: 'a "quoted" name',
  description: null,
  trigger_config: '{"type":"interval","interval_ms":1000}',
  flow_json: '{"nodes":[],"edges":[]}',
  nodes_json:
    '{"start_node":"30","nodes":{"30":{"type":"start","wires":{"default":["2"]}},"2":{"type":"end","wires":{}}}}',
  tests: '[{"name":"1","given":[],"then":{"outcome":"skipped"}}]',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-02T00:00:00.000Z',
};

describe('a rule as GET answers it', () => {
  test('[rules §4.7] nodes_json goes out byte for byte as stored, nodes named by numbers too', () => {
    expect(ruleText(row)).toContain(`"nodes_json":${row.nodes_json},"revision":3`);
  });

  test('[rules §2.2] its members are those of GET, in that order', () => {
    const members = 'id,name,description,enabled,mode,priority,cooldown_ms,trigger_config,flow_json,nodes_json';
    expect(Object.keys(ruleView(row)).join()).toBe(
      `${members},revision,created_at,updated_at,tests,key,applied_revision`,
    );
    const shown: unknown = JSON.parse(ruleText(row));
    expect(shown).toEqual(ruleView(row));
    expect(Object.keys(shown as object)).toEqual(Object.keys(ruleView(row)));
  });

  test('absent documents and columns damaged by hand read as null', () => {
    const damaged = { ...row, trigger_config: null, flow_json: null, nodes_json: '{"a":' };
    const nothing = { trigger_config: null, flow_json: null, nodes_json: null };
    expect(ruleView(damaged)).toMatchObject(nothing);
    expect(JSON.parse(ruleText(damaged))).toEqual(ruleView(damaged));
  });
});
